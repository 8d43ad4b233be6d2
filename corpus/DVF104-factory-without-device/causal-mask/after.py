import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, dim=8, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q = q.view(batch, length, self.heads, -1).transpose(1, 2)
        k = k.view(batch, length, self.heads, -1).transpose(1, 2)
        v = v.view(batch, length, self.heads, -1).transpose(1, 2)
        mask = torch.triu(torch.ones(length, length, device=x.device), diagonal=1).bool()
        scores = (q @ k.transpose(-2, -1)).masked_fill(mask, float("-inf"))
        y = scores.softmax(dim=-1) @ v
        return self.out(y.transpose(1, 2).reshape(batch, length, dim))


torch.manual_seed(7)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Attention().to(device)
x = torch.randn(2, 5, 8).to(device)
print(f"loss {model(x).abs().mean().item():.4f}")
