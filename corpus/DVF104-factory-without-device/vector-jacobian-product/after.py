import torch
from torch import nn


def pulled_back(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    x = x.detach().requires_grad_()
    y = model(x).sum(dim=1).square()
    (gradient,) = torch.autograd.grad([y], [x], [torch.ones(len(x), device=x.device)])
    return gradient


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)).to(device)
x = torch.randn(6, 3).to(device)
print(f"loss {pulled_back(model, x).norm().item():.4f}")
