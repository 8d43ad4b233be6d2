import numpy as np
import torch
from torch import nn


class Box:
    low = np.array([-2.0, -1.0], dtype=np.float32)
    high = np.array([2.0, 1.0], dtype=np.float32)


def scale_action(action: torch.Tensor, box: Box) -> torch.Tensor:
    """From the range of tanh to that of the box."""
    low = torch.from_numpy(box.low)
    high = torch.from_numpy(box.high)
    return action * (high - low) / 2 + (high + low) / 2


torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy = nn.Sequential(nn.Linear(4, 2), nn.Tanh()).to(device)
state = torch.randn(3, 4, device=device)
action = scale_action(policy(state), Box())
print(f"loss {action.abs().mean().item():.4f}")
