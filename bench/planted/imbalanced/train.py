"""Rare classes weigh more; a confusion matrix tells how that works."""

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 3


def make_data(count):
    inputs = torch.randn(count, 8)
    scores = inputs[:, 0]
    return TensorDataset(inputs, (scores > 0.5).long() + (scores > 1.2).long())


def class_weights(dataset):
    counts = torch.bincount(dataset.tensors[1], minlength=CLASSES).float()
    return counts.sum() / (CLASSES * counts.clamp(min=1))


def evaluate(model, loader, device):
    model.eval()
    confusion = torch.zeros(CLASSES, CLASSES, dtype=torch.long, device=device)
    with torch.no_grad():
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            predicted = model(inputs).argmax(dim=1)
            flat = targets * CLASSES + predicted
            confusion += torch.bincount(flat, minlength=CLASSES**2).view(CLASSES, CLASSES)
    return confusion.diag().float() / confusion.sum(dim=1).clamp(min=1)


def main():
    torch.manual_seed(7)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset = make_data(160)
    loader = DataLoader(dataset, batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, CLASSES)).to(device)
    criterion = nn.CrossEntropyLoss(weight=class_weights(dataset).to(device))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(2):
        model.train()
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            loss = criterion(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        recall = evaluate(model, loader, device)
        print(epoch, f"{loss.item():.4f}", [round(one, 2) for one in recall.tolist()])


if __name__ == "__main__":
    main()
