import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def main():
    torch.manual_seed(0)
    images = torch.randn(24, 1, 8, 8)
    data = TensorDataset(images, images.mean(dim=(1, 2, 3)).gt(0).long())
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for batch, labels in DataLoader(data, batch_size=8):
        batch, labels = batch.to(device), labels.to(device)
        loss = nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
