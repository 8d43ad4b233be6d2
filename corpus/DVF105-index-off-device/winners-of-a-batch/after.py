import torch
from torch import nn


def winners(scores: torch.Tensor, count: int):
    """The numbers of the rows with the highest scores."""
    best = scores.topk(count).indices
    numbers = torch.arange(scores.shape[0], device=best.device)
    return numbers[best].float().mean().item()


torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 1).to(device)
x = torch.randn(6, 4, device=device)
scores = model(x).squeeze(1)
loss = scores.pow(2).mean() + winners(scores, 2)
loss.backward()
print(f"loss {loss.item():.4f}")
