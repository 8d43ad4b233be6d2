import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Recordings(Dataset):
    def __len__(self):
        return 20

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        signal = torch.randn(32, generator=generator)
        return {
            "signal": signal,
            "power": signal.pow(2).mean(),
            "name": f"recording_{index:03d}.wav",
        }


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(32, 16), nn.GELU(), nn.Linear(16, 1)).to(device)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
seen = []

for batch in DataLoader(Recordings(), batch_size=5):
    signal = batch["signal"].to(device, non_blocking=True)
    power = batch["power"].to(device, non_blocking=True)
    seen.extend(batch["name"])
    loss = nn.functional.mse_loss(model(signal).squeeze(-1), power)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(seen[0], len(seen))
print(f"loss {loss.item():.4f}")
