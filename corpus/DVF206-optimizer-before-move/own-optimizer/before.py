import torch
from torch import nn


class Averaged(torch.optim.SGD):
    """Keeps a running average of each parameter, from the beginning."""

    def __init__(self, params, lr):
        super().__init__(params, lr=lr)
        self.averages = [p.detach().clone() for group in self.param_groups for p in group["params"]]

    def step(self, closure=None):
        super().step(closure)
        live = [p.detach() for group in self.param_groups for p in group["params"]]
        for average, p in zip(self.averages, live):
            average.copy_(0.9 * average + 0.1 * p)


class Task(nn.Linear):
    def configure_optimizers(self):
        return Averaged(self.parameters(), lr=0.05)


def fit(task, device, steps=3):
    optimizer = task.configure_optimizers()
    task.to(device)
    for step in range(steps):
        x = torch.randn(6, 3).to(device)
        loss = task(x).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(16)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(f"loss {fit(Task(3, 2), device):.4f}")
