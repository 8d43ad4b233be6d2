import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def get_loaders(device, batch_size=6):
    x = torch.linspace(0, 1, 48, device=device).reshape(24, 2)
    y = (x[:, 0] > 0.5).long()
    train, held = random_split(TensorDataset(x, y), [18, 6], generator=torch.Generator().manual_seed(0))
    train_loader = DataLoader(train, batch_size=batch_size, pin_memory=False)
    held_loader = DataLoader(held, batch_size=batch_size)
    return train_loader, held_loader


device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
train_loader, held_loader = get_loaders(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for x, y in train_loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    optimizer.step()
with torch.no_grad():
    losses = [nn.functional.cross_entropy(net(x), y).item() for x, y in held_loader]
print(f"loss {sum(losses):.4f}")
