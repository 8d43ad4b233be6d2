"""Calls of torch.cuda that ask first, or that do nothing without CUDA."""

import time

import torch
from torch import nn


class Clock:
    def __init__(self, device):
        self.device = torch.device(device)

    def now(self):
        if self.device.type == "cuda":
            self._wait()
        return time.perf_counter()

    def _wait(self):
        torch.cuda.synchronize(self.device)


def describe(device):
    if not torch.cuda.is_available():
        return "the host"
    return torch.cuda.get_device_name(device)


def release(device):
    torch.cuda.empty_cache()
    return torch.cuda.max_memory_allocated() < 2**34


torch.manual_seed(0)
torch.cuda.manual_seed_all(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
clock = Clock(device)
model = nn.Linear(4, 2).to(device)
started = clock.now()
loss = model(torch.ones(3, 4, device=device)).pow(2).mean()
assert clock.now() >= started
assert release(device)
assert describe(device)
print(f"loss {loss.item():.4f}")
