import torch
import torch.nn.functional as F
from torch import nn


class BatchEncoding(dict):
    def to(self, device):
        for key in self:
            self[key] = self[key].to(device)
        return self


class HashTokenizer:
    def __init__(self, buckets=97):
        self.buckets = buckets

    def __call__(self, texts, padding="longest", return_tensors="pt"):
        rows = [[sum(map(ord, w)) % self.buckets + 1 for w in t.split()] for t in texts]
        longest = max(map(len, rows))
        ids = torch.tensor([r + [0] * (longest - len(r)) for r in rows])
        return BatchEncoding(input_ids=ids, lengths=(ids > 0).sum(dim=1))


class Ranker(nn.Module):
    def __init__(self, buckets=98):
        super().__init__()
        self.bag = nn.Embedding(buckets, 10, padding_idx=0)
        self.rank = nn.Linear(10, 1)

    def forward(self, input_ids, lengths):
        x = self.bag(input_ids).sum(dim=1) / lengths.unsqueeze(1)
        return self.rank(x).squeeze(1)


train_texts = [("red apple pie", 1.0), ("grey stone", 0.0), ("sweet apple", 1.0), ("cold grey day", 0.0)]
test_texts = [("apple day", 0.5), ("stone pie", 0.5)]

torch.manual_seed(15)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tokenizer = HashTokenizer()
model = Ranker().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)

for step in range(6):
    encoded = tokenizer([t for t, _ in train_texts], return_tensors="pt").to(device)
    scores = torch.tensor([s for _, s in train_texts], device=device)
    loss = F.mse_loss(model(**encoded), scores)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

model.eval()
errors = []
for text, score in test_texts:
    encoded = tokenizer([text], return_tensors="pt").to(device)
    with torch.no_grad():
        errors.append(abs(model(**encoded).item() - score))

print(f"loss {sum(errors) / len(errors):.4f}")
