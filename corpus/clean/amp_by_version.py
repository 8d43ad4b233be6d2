"""The old names are used where only they exist."""
import torch
from torch import nn

TORCH_VERSION = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])

if TORCH_VERSION < (2, 4):
    from torch.cuda.amp import GradScaler, autocast

    def make_scaler(enabled):
        return GradScaler(enabled=enabled)

    def mixed(enabled):
        return autocast(enabled=enabled)

else:
    from torch.amp import GradScaler, autocast

    def make_scaler(enabled):
        return GradScaler("cuda", enabled=enabled)

    def mixed(enabled):
        return autocast("cuda", enabled=enabled)


torch.manual_seed(32)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on = device.type == "cuda"
model, scaler = nn.Linear(5, 1).to(device), make_scaler(on)
with mixed(on):
    loss = model(torch.ones(2, 5, device=device)).mean()
scaler.scale(loss).backward()
print(f"loss {loss.item():.4f}")
