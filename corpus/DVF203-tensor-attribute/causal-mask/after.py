import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, width, length):
        super().__init__()
        self.width = width
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(length, length)).bool(), persistent=False)  # lower triangle

    def forward(self, x):
        length = x.size(1)
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(1, 2) / math.sqrt(self.width)
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        return self.out(scores.softmax(dim=-1) @ v)


torch.manual_seed(2)
device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
layer = SelfAttention(8, 16).to(device)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
x = torch.randn(4, 10, 8, device=device)
for _ in range(4):
    loss = (layer(x) - x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
