"""A wrapper around the loader moves the batches, and a generator does the same."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DeviceDataLoader:
    def __init__(self, loader, device):
        self.loader, self.device = loader, device

    def __iter__(self):
        for batch in self.loader:
            yield [t.to(self.device) for t in batch]

    def __len__(self):
        return len(self.loader)


def on_device(loader, device):
    for x, y in loader:
        yield x.to(device), y.to(device)


torch.manual_seed(21)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(TensorDataset(torch.randn(18, 4), torch.randn(18, 2)), batch_size=6)
train_loader = DeviceDataLoader(loader, device)
model = nn.Linear(4, 2).to(device)

for x, y in train_loader:
    nn.functional.mse_loss(model(x), y).backward()
for x, y in on_device(loader, device):
    loss = nn.functional.mse_loss(model(x), y)

print(f"loss {loss.item():.4f}")
