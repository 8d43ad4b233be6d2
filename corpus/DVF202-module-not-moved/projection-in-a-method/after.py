import torch
from torch import nn


class Fusion(nn.Module):
    def __init__(self, sizes: list[int]):
        super().__init__()
        self.encoders = nn.ModuleList(nn.Linear(size, size) for size in sizes)
        self.sizes = sizes

    def forward(self, xs: list[torch.Tensor]) -> torch.Tensor:
        parts = [encoder(x) for encoder, x in zip(self.encoders, xs)]
        return torch.stack(self.project(parts)).mean(0)

    def project(self, parts: list[torch.Tensor]) -> list[torch.Tensor]:
        projected = []
        for size, part in zip(self.sizes, parts):
            projected.append(nn.Linear(size, min(self.sizes), bias=False).to(device)(part))
        return projected


torch.manual_seed(8)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
fusion = Fusion([6, 4]).to(device)
xs = [torch.randn(3, 6).to(device), torch.randn(3, 4).to(device)]
print(f"loss {fusion(xs).mean().item():.4f}")
