"""Layers replaced before the move, moved themselves, or without parameters."""
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 8), nn.ReLU())
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(8, 100)

    def forward(self, x):
        return self.fc(self.drop(self.body(x)))


torch.manual_seed(37)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

early = Net()
early.fc = nn.Linear(8, 3)
early.to(device)

late = Net().to(device)
late.fc = nn.Linear(8, 3).to(device)

features = Net().to(device)
features.fc = nn.Identity()
features.drop = nn.Dropout(0.0)
features.body[1] = nn.LeakyReLU(0.1)

made_there = Net().to(device)
made_there.fc = nn.Linear(8, 3, device=device)

x = torch.randn(4, 5, device=device)
loss = early(x).sum() + late(x).sum() + features(x).sum() + made_there(x).sum()
print(f"loss {loss.item():.3f}")
