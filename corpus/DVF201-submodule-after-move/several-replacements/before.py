import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvNet(nn.Module):
    def __init__(self, in_channels=3, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 12, 3, padding=1)
        self.dropout = nn.Dropout(0.0)
        self.classifier = nn.Sequential(nn.Linear(12, 12), nn.ReLU(), nn.Linear(12, num_classes))

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.classifier(self.dropout(x).mean(dim=(2, 3)))


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
args, _ = parser.parse_known_args()

torch.manual_seed(2)
net = ConvNet()
net.to(args.device)

# grey images, four classes
net.conv1 = nn.Conv2d(1, 6, kernel_size=3, padding=1)
net.dropout = nn.Dropout(0.2)
net.classifier[2] = nn.Linear(12, 4)

optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.rand(8, 1, 10, 10).to(args.device)
y = torch.arange(8).remainder(4).to(args.device)
for step in range(3):
    loss = F.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
