"""DataParallel takes host inputs and scatters them itself."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(36)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.DataParallel(nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 2))).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for x, y in DataLoader(TensorDataset(torch.randn(16, 6), torch.randint(0, 2, (16,))), batch_size=8):
    y = y.to(device)
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
