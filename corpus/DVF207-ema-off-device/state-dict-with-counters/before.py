from copy import deepcopy

import torch
import torch.nn as nn


class ModelAverage:
    """Keeps an average of parameters and buffers, on `device` when one is given."""

    def __init__(self, model, decay=0.999, device=None):
        self.ema = deepcopy(model)
        self.ema.eval()
        self.decay = decay
        self.device = device
        if self.device:
            self.ema.to(self.device)

    @torch.no_grad()
    def update(self, model):
        for avg, value in zip(self.ema.state_dict().values(), model.state_dict().values()):
            if avg.dtype.is_floating_point:
                avg.lerp_(value, weight=1 - self.decay)
            else:
                avg.copy_(value)


torch.manual_seed(2)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = nn.Sequential(nn.Linear(5, 10), nn.BatchNorm1d(10), nn.ReLU(), nn.Linear(10, 2)).to(device)
average = ModelAverage(model, decay=0.8, device="cpu")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

for step in range(5):
    x = torch.randn(20, 5).to(device)
    y = (x[:, 0] > 0).long()
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update(model)

print("batches seen:", average.ema[1].num_batches_tracked.item())
print(f"loss {loss.item():.4f}")
