"""The average is a copy of the moved model: both live together."""
from copy import deepcopy

import torch
from torch import nn


@torch.no_grad()
def update_average(average, model, decay):
    for a, p in zip(average.parameters(), model.parameters()):
        a.mul_(decay).add_(p, alpha=1 - decay)
    for a, b in zip(average.buffers(), model.buffers()):
        a.copy_(b)


torch.manual_seed(30)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).to(device)
average = deepcopy(model)
momentum_encoder = deepcopy(model[0])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(4):
    x = torch.randn(10, 4, device=device)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_average(average, model, 0.9)
    with torch.no_grad():
        for k, q in zip(momentum_encoder.parameters(), model[0].parameters()):
            k.data.lerp_(q.data, 0.1)

print(f"loss {loss.item():.4f}")
