import torch
from torch import nn


class TextModel(nn.Module):
    def __init__(self, vocab=40, dim=12):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab, dim)
        self.block = nn.TransformerEncoderLayer(dim, 2, 24, dropout=0.0, batch_first=True)
        self.out_head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.out_head(self.block(self.tok_emb(ids)))


def build_classifier(num_classes, device):
    model = TextModel()
    model = model.to(device)
    model.out_head = nn.Linear(12, num_classes)
    return model


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = build_classifier(2, device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, 40, (6, 9)).to(device)
    spam = torch.randint(0, 2, (6,)).to(device)
    for epoch in range(3):
        logits = model(ids)[:, -1, :]
        loss = nn.functional.cross_entropy(logits, spam)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
