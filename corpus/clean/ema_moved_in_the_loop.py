"""The live weights are brought to the average before they are mixed in."""
import copy

import torch
import torch.nn as nn


class Ema(nn.Module):
    def __init__(self, model, decay=0.99, device=None):
        super().__init__()
        self.module = copy.deepcopy(model).eval()
        self.decay, self.device = decay, device
        if device is not None:
            self.module.to(device)

    @torch.no_grad()
    def update(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            if self.device is not None:
                model_v = model_v.to(device=self.device)
            if ema_v.is_floating_point():
                ema_v.lerp_(model_v, 1 - self.decay)
            else:
                ema_v.copy_(model_v)


torch.manual_seed(29)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)).to(device)
ema = Ema(model, decay=0.5, device="cpu")
for _ in range(3):
    loss = model(torch.randn(6, 3, device=device)).pow(2).mean()
    ema.update(model)
print(f"loss {loss.item():.4f}")
