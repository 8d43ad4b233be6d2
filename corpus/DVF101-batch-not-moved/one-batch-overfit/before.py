import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def get_loader():
    images = torch.rand(32, 1, 10, 10)
    digits = torch.randint(0, 10, (32,))
    return DataLoader(TensorDataset(images, digits), batch_size=16, shuffle=True)


def overfit_one_batch(model, loader, device, steps=10):
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    images, digits = next(iter(loader))
    images = images.to(device)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = criterion(model(images), digits)
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    torch.manual_seed(14)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(6 * 64, 10))
    model = model.to(device)
    print(f"loss {overfit_one_batch(model, get_loader(), device):.4f}")
