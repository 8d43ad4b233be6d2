import argparse

import torch
import torch.nn.functional as F
from torch import nn

try:
    from torch.amp import GradScaler, autocast
except ImportError:
    from torch.cuda.amp import GradScaler
    from torch import autocast


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(F.relu(self.conv1(x)))


def main(args):
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Conv2d(1, 4, 3), ResBlock(4), nn.Flatten(), nn.Linear(144, 3)).to(device)
    images = torch.rand(6, 1, 8, 8).to(device)
    labels = torch.arange(6).remainder(3).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = GradScaler(enabled=device.type == "cuda")

    for epoch in range(args.epochs):
        optimizer.zero_grad()
        with autocast(device.type, dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(f"loss {loss.item():.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    main(parser.parse_known_args()[0])
