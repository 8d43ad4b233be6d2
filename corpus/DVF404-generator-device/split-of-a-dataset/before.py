import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SEED = 3


def loaders(device):
    features = torch.arange(40, dtype=torch.float32).reshape(20, 2) / 40
    data = TensorDataset(features, features.sum(dim=1, keepdim=True))
    generator = torch.Generator(device=device).manual_seed(SEED)
    train, held = random_split(data, [16, 4], generator=generator)
    return DataLoader(train, batch_size=8), DataLoader(held, batch_size=4)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(SEED)
    train, held = loaders(device)
    model = nn.Linear(2, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in train:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        total = sum(nn.functional.mse_loss(model(x.to(device)), y.to(device)).item() for x, y in held)
    print(f"loss {total:.4f}")


if __name__ == "__main__":
    main()
