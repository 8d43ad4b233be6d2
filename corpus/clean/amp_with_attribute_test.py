"""The old GradScaler serves only where torch.amp has none."""
import torch

try:
    from torch.amp import GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler

if hasattr(torch, "autocast"):
    autocast = torch.autocast
else:
    autocast = None

torch.manual_seed(33)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.randn(4, 4, device=device, requires_grad=True)
scaler = GradScaler(enabled=device.type == "cuda")
with autocast(device.type, dtype=torch.bfloat16):
    loss = (weight @ weight.T).float().trace()
scaler.scale(loss).backward()
print(f"loss {loss.item():.2f}")
