import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, dim, longest=64):
        super().__init__()
        position = torch.arange(longest).unsqueeze(1)
        scale = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        encoding = torch.zeros(1, longest, dim)
        encoding[0, :, 0::2] = torch.sin(position * scale)
        encoding[0, :, 1::2] = torch.cos(position * scale)
        self.register_buffer("encoding", encoding, persistent=False)

    def forward(self, x):
        return x + self.encoding[:, : x.size(1)]


def causal_mask(size, device=None):
    return torch.triu(torch.ones(size, size, dtype=torch.bool, device=device), diagonal=1)


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, x, mask):
        count, length, dim = x.shape
        q, k, v = self.qkv(x).view(count, length, self.heads, -1).transpose(1, 2).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(count, length, dim))


class LanguageModel(nn.Module):
    def __init__(self, vocabulary, dim=32, heads=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, dim)
        self.segment = nn.Embedding(4, dim)
        self.positions = PositionalEncoding(dim)
        self.attention = Attention(dim, heads)
        self.head = nn.Linear(dim, vocabulary)

    def forward(self, tokens):
        segments = torch.arange(tokens.size(1), device=tokens.device) // 8
        x = self.positions(self.embed(tokens) + self.segment(segments))
        mask = causal_mask(tokens.size(1), tokens.device)
        return self.head(x + self.attention(x, mask))
