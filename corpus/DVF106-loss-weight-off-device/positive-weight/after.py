import torch
import torch.nn.functional as F
from torch import nn


def detection_loss(logits: torch.Tensor, targets: torch.Tensor, ratios=(1.0, 4.0, 9.0)):
    pos_weight = torch.tensor(list(ratios), device=targets.device)
    return F.binary_cross_entropy_with_logits(logits, targets, pos_weight=pos_weight)


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 3).to(device)
x = torch.randn(6, 4, device=device)
targets = torch.randint(0, 2, (6, 3), device=device).float()
loss = detection_loss(model(x), targets)
loss.backward()
print(f"loss {loss.item():.4f}")
