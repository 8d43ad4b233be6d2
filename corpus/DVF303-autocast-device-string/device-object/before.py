import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def train_one_epoch(model, loader, optimizer, device: torch.device):
    model.train()
    for x, y in loader:
        x = x.to(device)
        y = y.to(device)
        with torch.autocast(device, dtype=torch.bfloat16):
            logits = model(x)
        loss = nn.functional.cross_entropy(logits.float(), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(9, 18), nn.Hardswish(), nn.Linear(18, 3)).to(device)
loader = DataLoader(TensorDataset(torch.randn(24, 9), torch.randint(0, 3, (24,))), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
print(f"loss {train_one_epoch(model, loader, optimizer, device):.2f}")
