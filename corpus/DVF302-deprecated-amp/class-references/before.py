import functools
from contextlib import nullcontext
from typing import Optional

import torch
import torch.nn as nn


def backward(loss: torch.Tensor, optimizer: torch.optim.Optimizer, scaler: Optional[torch.cuda.amp.GradScaler]) -> None:
    if isinstance(scaler, torch.cuda.amp.GradScaler):
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    else:
        loss.backward()
        optimizer.step()


@functools.lru_cache(maxsize=None)
def grid(size: int) -> torch.Tensor:
    return torch.linspace(-1, 1, size)


def main() -> None:
    torch.manual_seed(4)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    use_amp = device.type == "cuda"
    amp_context = torch.cuda.amp.autocast if use_amp else nullcontext
    scaler = torch.cuda.amp.GradScaler() if use_amp else None
    field = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    x = grid(40).unsqueeze(1).to(device)
    for step in range(5):
        optimizer.zero_grad()
        with amp_context():
            loss = nn.functional.mse_loss(field(x), x.pow(3))
        backward(loss, optimizer, scaler)
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
