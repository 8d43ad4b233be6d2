import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

x = torch.linspace(-1, 1, 64).unsqueeze(1)
y = torch.sin(3 * x)
sigma = 0.1 + x.abs()
loader = DataLoader(TensorDataset(x, y, sigma), batch_size=16)

model = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(5):
    for x, y, sigma in loader:
        x, y = x.to(device), y.to(device)
        residual = (model(x) - y) / sigma
        loss = residual.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
