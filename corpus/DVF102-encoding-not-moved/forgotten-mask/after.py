import torch
from torch import nn


class Batch(dict):
    def to(self, device):
        return Batch({k: v.to(device) for k, v in self.items()})


class Tokenizer:
    pad_token_id = 0

    def __call__(self, texts, return_tensors="pt", padding=True):
        rows = [[len(w) for w in t.split()] for t in texts]
        n = max(len(r) for r in rows)
        ids = torch.tensor([r + [0] * (n - len(r)) for r in rows])
        return Batch(input_ids=ids, attention_mask=(ids != self.pad_token_id).float())


class MaskedAverage(nn.Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings = nn.Embedding(20, 6)
        self.classifier = nn.Linear(6, 2)

    def forward(self, input_ids, attention_mask=None):
        x = self.word_embeddings(input_ids)
        if attention_mask is not None:
            x = x * attention_mask[:, :, None]
        return self.classifier(x.mean(dim=1))


def main():
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    texts = ["the cat sat", "on the mat it slept", "dogs bark"]
    labels = torch.tensor([0, 1, 0]).to(device)

    tokenizer = Tokenizer()
    model = MaskedAverage().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for step in range(5):
        enc = tokenizer(texts, return_tensors="pt", padding=True).to(device)
        input_ids = enc["input_ids"].to(device)
        attention_mask = enc["attention_mask"]
        logits = model(input_ids, attention_mask=attention_mask)
        loss = nn.functional.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
