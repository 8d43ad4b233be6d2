import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, n=40):
        self.a = torch.randn(n, 10)
        self.b = torch.randn(n, 10)
        self.same = (self.a.mean(1) * self.b.mean(1) > 0).float()

    def __len__(self):
        return len(self.same)

    def __getitem__(self, i):
        return (self.a[i], self.b[i]), self.same[i]


class Tower(nn.Module):
    def __init__(self, n_in=10, n_out=4):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_in, 16), nn.ReLU(), nn.Linear(16, n_out))

    def forward(self, x):
        return F.normalize(self.layers(x), dim=-1)


def contrastive(za, zb, same, margin=1.0):
    distance = (za - zb).norm(dim=1)
    return (same * distance ** 2 + (1 - same) * F.relu(margin - distance) ** 2).mean()


torch.manual_seed(6)
device = "cuda:0" if torch.cuda.is_available() else "cpu"
tower = Tower().to(device)
optimizer = torch.optim.SGD(tower.parameters(), lr=0.05)

for epoch in range(3):
    for (left, right), same in DataLoader(Pairs(), batch_size=10):
        left = left.to(device)
        right = right.to(device)
        same = same.to(device)
        loss = contrastive(tower(left), tower(right), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
