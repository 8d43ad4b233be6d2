import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ema import EMA

device = "cuda" if torch.cuda.is_available() else "cpu"


def loader():
    inputs = torch.randn(96, 10)
    return DataLoader(TensorDataset(inputs, (inputs.sum(1) > 0).long()), batch_size=32)


def run_epoch(model, ema, optimizer, data):
    for inputs, targets in data:
        inputs, targets = inputs.to(device), targets.to(device)
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.update(model)
    return loss.item()


def main():
    torch.manual_seed(0)
    data = loader()
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    ema = EMA(model)
    print(f"first: {run_epoch(model, ema, optimizer, data):.4f}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ema.pt")
        ema.save(path)
        resumed = EMA(model)
        resumed.load(path, device)
    print(f"second: {run_epoch(model, resumed, optimizer, data):.4f}")


if __name__ == "__main__":
    main()
