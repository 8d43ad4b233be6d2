import torch
from torch import nn


def balanced(labels, classes):
    """Weights that let every class count alike."""
    counts = torch.zeros(classes)
    for label in labels:
        counts[label] += 1
    return counts.sum() / (classes * counts.clamp(min=1))


def main(use_cuda=torch.cuda.is_available()):
    torch.manual_seed(3)
    device = torch.device("cuda" if use_cuda else "cpu")
    labels = [0, 0, 0, 1, 2, 0, 1, 0]
    model = nn.Linear(4, 3).to(device)
    criterion = nn.NLLLoss(balanced(labels, 3).to(device), reduction="mean")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    x = torch.randn(len(labels), 4).to(device)
    y = torch.tensor(labels).to(device)
    for _ in range(3):
        loss = criterion(model(x).log_softmax(dim=1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
