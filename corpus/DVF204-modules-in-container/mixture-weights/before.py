"""A mixture of linear maps, whose weights were written as a list of parameters."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Mixture(nn.Module):
    def __init__(self, size, experts):
        super().__init__()
        self.gate = nn.Linear(size, experts)
        self.weights = [nn.Parameter(torch.eye(size)) for _ in range(experts)]

    def forward(self, x):
        gates = self.gate(x).softmax(-1)
        mixed = torch.zeros_like(x)
        for i, weight in enumerate(self.weights):
            mixed = mixed + gates[:, i : i + 1] * (x @ weight)
        return mixed


torch.manual_seed(0)
model = Mixture(4, 3).to(device)
x = torch.randn(16, 4, device=device)
loss = nn.functional.mse_loss(model(x), 2 * x)
loss.backward()
print("loss", loss.item())
