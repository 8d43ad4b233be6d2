"""Every legal way to name the device type."""
import contextlib

import torch
from torch import nn
from torch.amp import GradScaler, autocast

torch.manual_seed(31)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 8).to(device)
x = torch.randn(4, 8, device=device)
scaler = GradScaler(device.type, enabled=device.type == "cuda")
options = {"device_type": device.type, "dtype": torch.bfloat16}

with torch.autocast(device.type, dtype=torch.bfloat16):
    loss = model(x).float().mean()
with torch.autocast(device_type=x.device.type, dtype=torch.bfloat16, enabled=False):
    loss = loss + model(x).mean()
with torch.amp.autocast("cuda" if device.type == "cuda" else "cpu", torch.bfloat16):
    loss = loss + model(x).float().mean()
with autocast(**options):
    loss = loss + model(x).float().mean()
with autocast(str(device).split(":")[0], dtype=torch.bfloat16) if device.type == "cuda" else contextlib.nullcontext():
    loss = loss + model(x).float().mean()
scaler.scale(loss).backward()
print(f"loss {loss.item():.2f}")
