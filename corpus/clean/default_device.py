"""Everything is made on the default device."""
import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.set_default_device(device)
torch.manual_seed(24)

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(30, 4)
y = torch.zeros(30, 1) + x[:, :1]

for step in range(3):
    noise = 0.01 * torch.randn(30, 4)
    loss = nn.functional.mse_loss(model(x + noise), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

torch.set_default_device(None)
print(f"loss {loss.item():.4f}")
