import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Blobs(Dataset):
    def __init__(self, length, size=16):
        self.length, self.size = length, size

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        image = torch.rand(1, self.size, self.size, generator=g)
        mask = (image > 0.5).float()
        weight_map = 1.0 + mask
        return image, mask, weight_map


class UNetTiny(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.down = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.mid = nn.Conv2d(width, width, 3, padding=1)
        self.up = nn.ConvTranspose2d(width, width, 2, stride=2)
        self.head = nn.Conv2d(width + 1, 1, 1)

    def forward(self, x):
        h = F.relu(self.down(x))
        h = F.relu(self.mid(h))
        h = self.up(h)
        return self.head(torch.cat([h, x], dim=1))


def dice(logits, mask):
    p = torch.sigmoid(logits)
    return 1 - 2 * (p * mask).sum() / (p.sum() + mask.sum() + 1e-6)


def train_one_epoch(model, loader, optimizer, device):
    model.train()
    total = 0.0
    for i, (image, mask, weight_map) in enumerate(loader):
        image = image.to(device, dtype=torch.float32)
        logits = model(image)
        bce = F.binary_cross_entropy_with_logits(logits, mask, weight=weight_map)
        loss = bce + dice(logits, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / (i + 1)


torch.manual_seed(13)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = UNetTiny().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
print(f"loss {train_one_epoch(model, DataLoader(Blobs(12), batch_size=4), optimizer, device):.4f}")
