import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
features = torch.randn(32, 5)
targets = features.sum(dim=1, keepdim=True)
data = TensorDataset(features.to(device), targets.to(device))
loader = DataLoader(data, batch_size=8, shuffle=False, pin_memory=False)

model = nn.Linear(5, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
