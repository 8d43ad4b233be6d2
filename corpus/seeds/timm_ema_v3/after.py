"""Exponential moving average of everything in a model's state."""
from copy import deepcopy
from typing import Optional

import torch
import torch.nn as nn


class ModelEmaV3(nn.Module):
    """Averages parameters and buffers, with foreach operations where all live together.

    With `device="cpu"` the average takes no room on the accelerator.
    """

    def __init__(
            self,
            model,
            decay: float = 0.9999,
            update_after_step: int = 0,
            use_warmup: bool = False,
            warmup_power: float = 2 / 3,
            device: Optional[torch.device] = None,
            foreach: bool = True,
            exclude_buffers: bool = False,
    ):
        super().__init__()
        self.module = deepcopy(model)
        self.module.eval()
        self.decay = decay
        self.update_after_step = update_after_step
        self.use_warmup = use_warmup
        self.warmup_power = warmup_power
        self.foreach = foreach
        self.device = device
        self.exclude_buffers = exclude_buffers
        if self.device is not None and device != next(model.parameters()).device:
            self.foreach = False
            self.module.to(device=device)

    def get_decay(self, step: Optional[int] = None) -> float:
        if step is None:
            return self.decay
        step = max(0, step - self.update_after_step - 1)
        if step <= 0:
            return 0.0
        if self.use_warmup:
            return min(1 - (1 + step) ** -self.warmup_power, self.decay)
        return self.decay

    @torch.no_grad()
    def update(self, model, step: Optional[int] = None):
        decay = self.get_decay(step)
        if self.exclude_buffers:
            self.apply_update_no_buffers_(model, decay)
        else:
            self.apply_update_(model, decay)

    def apply_update_(self, model, decay: float):
        if self.foreach:
            ema_lerp_values = []
            model_lerp_values = []
            for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
                if ema_v.is_floating_point():
                    ema_lerp_values.append(ema_v)
                    model_lerp_values.append(model_v)
                else:
                    ema_v.copy_(model_v)
            torch._foreach_lerp_(ema_lerp_values, model_lerp_values, weight=1. - decay)
        else:
            for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
                if ema_v.is_floating_point():
                    ema_v.lerp_(model_v.to(device=ema_v.device), weight=1. - decay)
                else:
                    ema_v.copy_(model_v.to(device=ema_v.device))

    def apply_update_no_buffers_(self, model, decay: float):
        ema_params = tuple(self.module.parameters())
        model_params = tuple(model.parameters())
        if self.foreach:
            torch._foreach_lerp_(ema_params, model_params, weight=1. - decay)
        else:
            for ema_p, model_p in zip(ema_params, model_params):
                ema_p.lerp_(model_p.to(device=ema_p.device), weight=1. - decay)

        for ema_b, model_b in zip(self.module.buffers(), model.buffers()):
            ema_b.copy_(model_b.to(device=self.device))

    @torch.no_grad()
    def set(self, model):
        for ema_v, model_v in zip(self.module.state_dict().values(), model.state_dict().values()):
            ema_v.copy_(model_v.to(device=self.device))

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(216, 4)).to(device)
    averages = [
        ModelEmaV3(model, decay=0.9, device=None),
        ModelEmaV3(model, decay=0.9, device=torch.device("cpu"), foreach=False),
        ModelEmaV3(model, decay=0.9, device=torch.device("cpu"), foreach=False, exclude_buffers=True),
    ]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(4):
        images = torch.rand(8, 3, 8, 8, device=device)
        labels = torch.randint(0, 4, (8,), device=device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for average in averages:
            average.update(model, step=step + 1)

    probe = torch.rand(2, 3, 8, 8)
    for average in averages[1:]:
        print("spread %.4f" % average(probe).std().item())
    print("loss %.4f" % loss.item())


if __name__ == "__main__":
    main()
