"""Factories without a device whose tensors stay on the host, or meet others only where that is legal."""

import torch
from torch import nn


class Sampler(nn.Module):
    def __init__(self, size=6, low=0.1, high=0.9):
        super().__init__()
        self.low, self.high = low, high
        self.layer = nn.Linear(size, size)
        self.register_buffer("powers", 2.0 ** torch.arange(size))
        self.register_buffer("inverse", 1.0 / (self.powers + torch.ones(size)))

    def forward(self, x):
        level = torch.rand(1).item() * (self.high - self.low) + self.low
        order = torch.arange(x.size(0) - 1, -1, -1)
        shift = torch.tensor(0.5)
        return (self.layer(x)[order] * self.inverse + shift) * level


def histogram(outputs, bins=4):
    counts = torch.zeros(bins)
    for value in outputs.detach().cpu().flatten():
        counts[min(int(value.sigmoid() * bins), bins - 1)] += 1
    return counts / counts.sum()


def table(rows):
    out = torch.empty(len(rows), 6)
    for i, row in enumerate(rows):
        out[i] = row
    return out


torch.manual_seed(12)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Sampler().to(device)
x = torch.randn(4, 6).to(device)
y = model(x)
print(f"bins {histogram(y).numel()} rows {table(list(y)).shape[0]}")
print(f"loss {y.abs().mean().item():.4f}")
