"""The tensors were moved before the loader was built: its batches are on the device."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(22)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
X = torch.randn(40, 5)
Y = X.pow(2).sum(dim=1, keepdim=True)
X, Y = X.to(device), Y.to(device)
train = DataLoader(TensorDataset(X[:32], Y[:32]), batch_size=8, shuffle=True)
test = TensorDataset(X[32:], Y[32:])

model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for epoch in range(3):
    for x, y in train:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

with torch.no_grad():
    for x, y in DataLoader(test, batch_size=8):
        loss = nn.functional.mse_loss(model(x), y)
print(f"loss {loss.item():.4f}")
