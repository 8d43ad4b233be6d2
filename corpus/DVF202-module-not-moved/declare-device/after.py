import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(7)

loader = DataLoader(TensorDataset(torch.randn(48, 6), torch.randn(48, 2)), batch_size=12)

model = nn.Sequential(nn.Linear(6, 12), nn.ELU(), nn.Linear(12, 2)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(2):
    for x, y in loader:
        x = x.to(device)
        y = y.to(device)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
