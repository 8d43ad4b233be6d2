# needs: torchmetrics
"""Metrics that are moved, that a module carries, that get host values, or that are moved by something else."""

import torch
import torchmetrics
from torch import nn
from torchmetrics.classification import MulticlassAccuracy


class Measured(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 3)
        self.accuracy = MulticlassAccuracy(3)

    def forward(self, x, y):
        logits = self.net(x)
        self.accuracy.update(logits, y)
        return nn.functional.cross_entropy(logits, y)


def on_the_host(model, loader, device):
    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3)
    for x, y in loader:
        logits = model.net(x.to(device))
        accuracy.update(logits.cpu(), y)
    return accuracy.compute()


def moved(model, loader, device):
    accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3).to(device)
    mean = torchmetrics.MeanMetric()
    metrics = {"recall": torchmetrics.Recall(task="multiclass", num_classes=3)}
    for one in metrics.values():
        one.to(device)
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model.net(x)
        accuracy.update(logits, y)
        metrics["recall"].update(logits, y)
        mean.update(nn.functional.cross_entropy(logits, y).item())
    return mean.compute()


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Measured().to(device)
    loader = [(torch.randn(6, 4), torch.randint(0, 3, (6,))) for _ in range(2)]
    for x, y in loader:
        loss = model(x.to(device), y.to(device))
    moved(model, loader, device)
    on_the_host(model, loader, device)
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
