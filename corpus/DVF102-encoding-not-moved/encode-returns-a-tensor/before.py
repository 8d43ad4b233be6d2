import torch
from torch import nn

torch.manual_seed(10)


class SimpleTokenizer:
    """Splits on blanks; knows a handful of words."""

    words = ["<unk>", "paris", "is", "the", "capital", "of", "france"]

    def encode(self, text, return_tensors=None):
        ids = [self.words.index(w) if w in self.words else 0 for w in text.lower().split()]
        return torch.tensor([ids]) if return_tensors == "pt" else ids


class TinyGPT(nn.Module):
    def __init__(self, vocab_size, n_embd=16):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, n_embd)
        self.block = nn.TransformerEncoderLayer(n_embd, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx):
        return self.head(self.block(self.tok(idx)))


def perplexity(model, tokenizer, text, device):
    model.eval()
    tokens = tokenizer.encode(text, return_tensors="pt")
    with torch.no_grad():
        logits = model(tokens)
        nll = nn.functional.cross_entropy(logits[0, :-1], tokens[0, 1:])
    return nll.item()


device = "cuda" if torch.cuda.is_available() else "cpu"
tokenizer = SimpleTokenizer()
model = TinyGPT(len(tokenizer.words)).to(device)
print(f"loss {perplexity(model, tokenizer, 'Paris is the capital of France', device):.4f}")
