import torch
from torch import nn


def without_winners(features: torch.Tensor, count: int):
    """Features count the less, the more they win."""
    strength = features.abs().mean(dim=0)
    best = strength.topk(count).indices
    wins = torch.zeros(features.shape[1], device=features.device)
    wins[best] += 1.0
    return features / (1 + wins)


torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(6, 5).to(device)
x = torch.randn(7, 6, device=device)
loss = without_winners(model(x), 2).pow(2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")
