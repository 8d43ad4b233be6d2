"""Modules and tensors made under a device context are on that device."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(25)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(TensorDataset(torch.randn(16, 5), torch.randint(0, 5, (16,))), batch_size=8)

with torch.device(device):
    model = nn.Linear(5, 5)
    prior = torch.linspace(0, 1, 5)

for x, y in loader:
    x, y = x.to(device), y.to(device)
    loss = nn.functional.cross_entropy(model(x) + prior, y)
    loss.backward()

print(f"loss {loss.item():.4f}")
