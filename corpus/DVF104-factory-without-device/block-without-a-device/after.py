import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, size: int, device: torch.device | None = None):
        super().__init__()
        self.mix = nn.Linear(size, size, device=device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mix(x).relu()


class Net(nn.Sequential):
    def __init__(self, size: int, device: torch.device | None = None):
        super().__init__(
            Block(size, device=device),
            Block(size, device=device),
            Block(size, device=device),
            nn.Linear(size, 1, device=device),
        )


torch.manual_seed(4)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Net(5, device=device)
x = torch.randn(7, 5).to(device)
print(f"loss {net(x).mean().item():.4f}")
