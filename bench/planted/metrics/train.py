"""Losses and predictions are gathered over an epoch."""

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self, count, device):
        self.total = torch.zeros(count, device=device)
        self.steps = 0

    def update(self, values):
        self.total += values
        self.steps += 1

    @property
    def average(self):
        return (self.total / self.steps).tolist()


def evaluate(model, loader, device):
    model.eval()
    predictions, truth = [], []
    with torch.no_grad():
        for inputs, targets in loader:
            logits = model(inputs.to(device))
            predictions.append(logits.argmax(1).cpu().numpy())
            truth.append(targets.numpy())
    return float((np.concatenate(predictions) == np.concatenate(truth)).mean())


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    inputs = torch.randn(80, 6)
    loader = DataLoader(TensorDataset(inputs, (inputs[:, 0] > 0).long()), batch_size=20)
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        model.train()
        meter = AverageMeter(2, device)
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            losses = nn.functional.cross_entropy(model(inputs), targets, reduction="none")
            losses.mean().backward()
            optimizer.step()
            optimizer.zero_grad()
            meter.update(torch.stack([losses.detach().mean(), losses.detach().max()]))
        print(epoch, [round(one, 4) for one in meter.average], f"{evaluate(model, loader, device):.2f}")


if __name__ == "__main__":
    main()
