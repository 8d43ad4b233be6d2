import torch
from torch import nn


class BatchEncoding(dict):
    def to(self, device):
        return BatchEncoding({k: v.to(device) for k, v in self.items()})


class WordTokenizer:
    def __init__(self, words):
        self.vocab = {word: i + 1 for i, word in enumerate(words)}

    def __call__(self, texts, padding=True, return_tensors="pt"):
        rows = [[self.vocab.get(w, 0) for w in t.split()] for t in texts]
        width = max(map(len, rows))
        ids = torch.tensor([r + [0] * (width - len(r)) for r in rows])
        return BatchEncoding(input_ids=ids, attention_mask=(ids != 0).long())


class Sentiment(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed = nn.Embedding(size, 8)
        self.score = nn.Linear(8, 2)

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.unsqueeze(-1)
        pooled = (self.embed(input_ids) * mask).sum(1) / mask.sum(1)
        return self.score(pooled)


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
texts = ["a good film", "a very bad film indeed", "good"]
tokenizer = WordTokenizer("a good bad very film indeed".split())
model = Sentiment(7).to(device)
model.eval()

inputs = tokenizer(texts, padding=True, return_tensors="pt")
with torch.no_grad():
    logits = model(**inputs)

print(f"loss {torch.logsumexp(logits, dim=1).mean().item():.4f}")
