import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

loader = DataLoader(TensorDataset(torch.randn(60, 5), torch.randn(60, 1)), batch_size=15)
model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 1))
model.to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for epoch in range(2):
    for inputs, targets in loader:
        inputs.to(device)
        targets.to(device)
        outputs = model(inputs)
        loss = nn.functional.mse_loss(outputs, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
