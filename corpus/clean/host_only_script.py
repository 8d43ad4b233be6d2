"""The device is only reported: model and data are on the host together."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print("available:", device.type in ("cuda", "cpu"))

torch.manual_seed(27)
model = nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
x = torch.randn(20, 3)
y = x.sum(dim=1, keepdim=True)


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(2):
    optimizer.step(closure)
for a, b in DataLoader(TensorDataset(x, y), batch_size=10):
    loss = nn.functional.mse_loss(model(a), b)
print(f"loss {loss.item():.4f}")
