import math

import torch
from schedule import NoiseSchedule
from torch import nn


def embed_time(t, dim):
    half = dim // 2
    frequencies = torch.exp(-math.log(10000) * torch.arange(half, device=t.device) / half)
    angles = t[:, None].float() * frequencies[None]
    return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=4, width=32, time=8):
        super().__init__()
        self.time = time
        self.net = nn.Sequential(nn.Linear(dim + time, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, t):
        return self.net(torch.cat([x, embed_time(t, self.time)], dim=-1))


@torch.no_grad()
def sample(model, schedule, count, device):
    x = torch.randn(count, 4, device=device)
    for step in reversed(range(schedule.steps)):
        t = torch.full((count,), step, device=device)
        predicted = model(x, t)
        scale = schedule.betas[t].view(-1, 1) / (1 - schedule.alpha_bars[t]).sqrt().view(-1, 1)
        x = (x - scale * predicted) / schedule.alphas[t].sqrt().view(-1, 1)
    return x


def main():
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Denoiser().to(device)
    schedule = NoiseSchedule(10, device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    data = torch.randn(64, 4)
    for epoch in range(2):
        for x in data.split(16):
            x = x.to(device)
            t = schedule.sample_steps(x.size(0))
            noisy, noise = schedule.add_noise(x, t)
            loss = nn.functional.mse_loss(model(noisy, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")
    print(f"sample {sample(model, schedule, 4, device).std().item():.2f}")


if __name__ == "__main__":
    main()
