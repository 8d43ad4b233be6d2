import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(12)

points = torch.rand(90, 2)
inside = (points.sub(0.5).norm(dim=1) < 0.4).float()
loader = DataLoader(TensorDataset(points, inside), batch_size=30, shuffle=True)

model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
model.to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.BCEWithLogitsLoss()

for epoch in range(3):
    for xy, target in loader:
        xy = xy.to(device, non_blocking=True)
        target = target.to(device, non_blocking=True)
        logits = model(xy).squeeze(1)
        loss = criterion(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
