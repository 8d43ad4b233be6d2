import torch
from torch import nn


class Meter:
    def __init__(self, device):
        self.device = torch.device(device)
        self.steps = 0

    def start(self):
        torch.cuda.reset_peak_memory_stats()
        self.steps = 0

    def step(self):
        self.steps += 1

    def report(self):
        peak = torch.cuda.max_memory_allocated() if self.device.type == "cuda" else 0
        return f"{self.steps} steps, peak below 1 GiB: {peak < 2**30}"


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
net = nn.Linear(4, 4).to(device)
meter = Meter(device)
meter.start()
for _ in range(3):
    loss = net(torch.ones(2, 4, device=device)).square().mean()
    loss.backward()
    meter.step()
print(meter.report())
print(f"loss {loss.item():.4f}")
