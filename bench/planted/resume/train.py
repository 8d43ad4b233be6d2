"""Training that is interrupted, and goes on from a checkpoint."""

import os
import tempfile

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def build():
    return nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 1))


def train(model, optimizer, centre, data, steps):
    for step in range(steps):
        batch = data[step * 8 : step * 8 + 8].to(device)
        loss = ((model(batch - centre) - batch.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def save(path, model, optimizer, centre):
    on_host = {name: value.cpu() for name, value in model.state_dict().items()}
    torch.save({"model": on_host, "optimizer": optimizer.state_dict(), "centre": centre.cpu()}, path)


def restore(path):
    checkpoint = torch.load(path, map_location="cpu")
    model = build()
    model.load_state_dict(checkpoint["model"])
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    optimizer.load_state_dict(checkpoint["optimizer"])
    centre = checkpoint["centre"].to(device)
    return model, optimizer, centre


def main():
    torch.manual_seed(0)
    data = torch.randn(64, 6)
    centre = data.mean(0).to(device)
    model = build().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    print(f"first {train(model, optimizer, centre, data, 4):.4f}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        save(path, model, optimizer, centre)
        model, optimizer, centre = restore(path)
    print(f"second {train(model, optimizer, centre, data, 4):.4f}")


if __name__ == "__main__":
    main()
