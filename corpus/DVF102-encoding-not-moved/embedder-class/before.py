import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoding(dict):
    def to(self, device):
        return Encoding((k, v.to(device)) for k, v in self.items())


class CharTokenizer:
    def __call__(self, text, max_length=16, truncation=True, padding="max_length", return_tensors=None):
        codes = [[ord(c) % 64 + 1 for c in t[:max_length]] for t in text]
        ids = torch.tensor([c + [0] * (max_length - len(c)) for c in codes])
        return Encoding({"input_ids": ids, "attention_mask": (ids > 0).float()})


class Encoder(nn.Module):
    def __init__(self, dim=12):
        super().__init__()
        self.embeddings = nn.Embedding(65, dim)
        self.dense = nn.Linear(dim, dim)

    def forward(self, input_ids, attention_mask):
        hidden = torch.tanh(self.dense(self.embeddings(input_ids)))
        return hidden * attention_mask.unsqueeze(-1)


class TextEmbedder:
    def __init__(self, model, tokenizer, device=None):
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.tokenizer = tokenizer
        self.model = model.to(self.device).eval()

    @torch.inference_mode()
    def encode(self, sentences, batch_size=2):
        vectors = []
        for start in range(0, len(sentences), batch_size):
            chunk = sentences[start:start + batch_size]
            encoded = self.tokenizer(chunk, truncation=True, padding="max_length", return_tensors="pt")
            output = self.model(**encoded)
            vectors.append(F.normalize(output.sum(dim=1), dim=-1))
        return torch.cat(vectors)


torch.manual_seed(1)
embedder = TextEmbedder(Encoder(), CharTokenizer())
vectors = embedder.encode(["first line", "second line", "something else", "last"])
similarity = vectors @ vectors.T
print(f"loss {1 - similarity.mean().item():.4f}")
