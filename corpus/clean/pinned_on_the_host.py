"""Memory of the host that is pinned for CUDA alone, and data on the device that is not pinned."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
pin_memory = device.type == "cuda"
data = TensorDataset(torch.randn(24, 3), torch.randn(24, 1))
loader = DataLoader(data, batch_size=6, pin_memory=pin_memory)
resident = DataLoader(TensorDataset(torch.randn(6, 3).to(device), torch.randn(6, 1).to(device)), pin_memory=False)
model = nn.Linear(3, 1).to(device)


def prefetch(x):
    if device.type == "cuda":
        return x.pin_memory().to(device, non_blocking=True)
    return x.to(device)


for x, y in loader:
    loss = nn.functional.mse_loss(model(prefetch(x)), y.to(device, non_blocking=True))
for x, y in resident:
    loss = loss + nn.functional.mse_loss(model(x), y)
loss.backward()
print(f"loss {loss.item():.4f}")
