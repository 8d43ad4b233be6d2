import copy

import torch
from torch import nn


@torch.no_grad()
def update_ema(ema_model, model, decay=0.99):
    for ema_param, param in zip(ema_model.parameters(), model.parameters()):
        ema_param.data.mul_(decay).add_(param.data.to(device=ema_param.data.device), alpha=1 - decay)


class Denoiser(nn.Module):
    def __init__(self, dim=2, hidden=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, hidden), nn.SiLU(), nn.Linear(hidden, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def main():
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Denoiser().to(device)
    ema_model = copy.deepcopy(model).to("cpu")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for step in range(6):
        x = torch.randn(32, 2, device=device)
        t = torch.rand(32, 1, device=device)
        noise = torch.randn_like(x)
        loss = (model((1 - t) * x + t * noise, t) - noise).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_ema(ema_model, model)
    drift = sum((a - b.cpu()).abs().sum().item() for a, b in zip(ema_model.parameters(), model.parameters()))
    print(f"drift {drift:.4f}")
    print(f"loss {loss.item():.4f}")


main()
