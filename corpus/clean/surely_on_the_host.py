"""What numpy reads without a copy, what is drawn as one index, and results that are brought to the host."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def corners(boxes):
    half = boxes[:, 2:] / 2
    return torch.cat([boxes[:, :2] - half, boxes[:, :2] + half], dim=1)


def annotate(image, boxes: torch.Tensor):
    height, width = image.shape[:2]
    boxes = boxes * torch.Tensor([width, height, width, height])
    drawn = corners(boxes=boxes).numpy()
    return drawn.round().astype(int).tolist()


def nearest(positions, cutoff):
    rows = np.asarray(positions)
    return np.linalg.norm(rows[:, None] - rows[None], axis=-1) < cutoff


def neighbours(positions: torch.Tensor, cutoff):
    close = torch.from_numpy(nearest(positions, cutoff)).to(dtype=positions.dtype)
    return torch.mm(close, positions)


def spanning(scores):
    free = torch.ones(5, dtype=torch.bool)
    for _ in range(2):
        k = torch.multinomial(scores.exp(), 1)[0]
        free[k] = False
    return torch.arange(5)[torch.multinomial(scores.exp(), 1)[0]], free


def spread(model, rows, parts):
    found = [model(one.to(device)).detach().cpu() for one in rows]
    total = torch.zeros(len(rows[0]))
    for part in parts:
        total += torch.stack(found)[part].pow(2).sum(dim=1)
    return total


print(annotate(np.zeros((4, 6, 3)), torch.rand(2, 4)), neighbours(torch.rand(3, 2), 0.5).shape)
print([one.shape for one in spanning(torch.rand(5).to(device))])
found = spread(nn.Linear(3, 3).to(device), [torch.rand(4, 3) for _ in range(2)], [0, 1])
print(f"loss {found.mean():.4f}")
