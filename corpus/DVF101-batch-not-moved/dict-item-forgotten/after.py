import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class TokenDataset(Dataset):
    def __init__(self, size=32, length=10, vocab=50):
        self.ids = torch.randint(1, vocab, (size, length))
        self.mask = torch.rand(size, length) > 0.2
        self.mask[:, 0] = True
        self.labels = torch.randint(0, 2, (size,))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return {
            "input_ids": self.ids[index],
            "attention_mask": self.mask[index],
            "labels": self.labels[index],
        }


class Classifier(nn.Module):
    def __init__(self, vocab=50, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.TransformerEncoderLayer(dim, nhead=2, dim_feedforward=32, batch_first=True, dropout=0.0)
        self.out = nn.Linear(dim, 2)

    def forward(self, input_ids, attention_mask):
        hidden = self.encoder(self.embed(input_ids))
        keep = attention_mask.unsqueeze(-1).float()
        pooled = (hidden * keep).sum(dim=1) / keep.sum(dim=1)
        return self.out(pooled)


def train(model, loader, optimizer, device):
    model.train()
    for batch in loader:
        input_ids = batch["input_ids"].to(device)
        attention_mask = batch["attention_mask"].to(device)
        labels = batch["labels"].to(device)

        logits = model(input_ids, attention_mask)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Classifier().to(device)
loss = train(model, DataLoader(TokenDataset(), batch_size=8), torch.optim.Adam(model.parameters()), device)
print(f"loss {loss:.4f}")
