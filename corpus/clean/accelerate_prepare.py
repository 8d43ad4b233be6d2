# needs: accelerate
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)
accelerator = Accelerator()
device = accelerator.device

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(torch.randn(24, 4), torch.randn(24, 1)), batch_size=6, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.randn(12, 4), torch.randn(12, 1)), batch_size=6)
model, optimizer, loader, val_loader = accelerator.prepare(model, optimizer, loader, val_loader)

for x, y in loader:
    with accelerator.accumulate(model):
        loss = F.mse_loss(model(x), y)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()

losses = []
for x, y in val_loader:
    with torch.no_grad():
        losses.append(accelerator.gather(F.mse_loss(model(x), y).repeat(len(x))))

accelerator.print(f"loss {torch.cat(losses).mean().item():.4f}")
