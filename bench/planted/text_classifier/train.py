"""Batches are dicts, as the tokenizers of transformers make them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Reviews(Dataset):
    def __init__(self, count, vocabulary=50):
        generator = torch.Generator().manual_seed(11)
        self.tokens = [torch.randint(1, vocabulary, (5 + n % 7,), generator=generator) for n in range(count)]

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, index):
        tokens = self.tokens[index]
        return {"input_ids": tokens, "labels": int(tokens.float().mean() > 25), "text": f"review {index}"}


def collate(rows):
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.long)
    for number, row in enumerate(rows):
        ids[number, : len(row["input_ids"])] = row["input_ids"]
    return {
        "input_ids": ids,
        "attention_mask": (ids != 0).long(),
        "labels": torch.tensor([row["labels"] for row in rows]),
        "text": [row["text"] for row in rows],
    }


class Classifier(nn.Module):
    def __init__(self, vocabulary=50, dim=16):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.head = nn.Linear(dim, 2)

    def forward(self, input_ids, attention_mask, labels=None):
        mask = attention_mask.unsqueeze(-1)
        pooled = (self.embedding(input_ids) * mask).sum(1) / mask.sum(1)
        logits = self.head(pooled)
        loss = None if labels is None else nn.functional.cross_entropy(logits, labels)
        return loss, logits


def evaluate(model, loader, device):
    correct = 0
    model.eval()
    for batch in loader:
        ids = batch["input_ids"].to(device)
        mask = batch["attention_mask"].to(device)
        labels = batch["labels"].to(device)
        _, logits = model(ids, mask)
        correct += (logits.argmax(-1) == labels).sum().item()
    return correct / len(loader.dataset)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Reviews(48), batch_size=12, shuffle=True, collate_fn=collate)
    model = Classifier().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(2):
        model.train()
        for batch in loader:
            batch.pop("text")
            batch = {name: value.to(device) for name, value in batch.items()}
            loss, _ = model(**batch)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {evaluate(model, loader, device):.3f}")


if __name__ == "__main__":
    main()
