import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def train(model, loader, optimizer, criterion, device):
    model.train()
    for inputs, targets in loader:
        inputs = inputs.to(device, non_blocking=True)
        targets = targets.to(device, non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(model, loader, criterion, device):
    model.eval()
    total, count = 0.0, 0
    for inputs, targets in loader:
        inputs = inputs.to(device, non_blocking=True)
        targets = targets.to(device, non_blocking=True)
        outputs = model(inputs)
        total += criterion(outputs, targets).item() * len(inputs)
        count += len(inputs)
    return total / count


def main():
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(72, 6)
    y = x.sum(dim=1, keepdim=True)
    train_loader = DataLoader(TensorDataset(x[:48], y[:48]), batch_size=12, shuffle=True)
    test_loader = DataLoader(TensorDataset(x[48:], y[48:]), batch_size=12)

    model = nn.Linear(6, 1).to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(3):
        train(model, train_loader, optimizer, criterion, device)
        loss = evaluate(model, test_loader, criterion, device)
    print(f"loss {loss:.4f}")


if __name__ == "__main__":
    main()
