import torch
from torch import nn


class RunningMoments:
    """Mean and variance of observations, kept while an agent acts."""

    def __init__(self, size, device):
        self.mean = torch.zeros(size, device=device)
        self.variance = torch.ones(size, device=device)
        self.count = 1e-4

    def update(self, batch):
        self.count += len(batch)
        share = len(batch) / self.count
        self.mean = self.mean + share * (batch.mean(0) - self.mean)
        self.variance = self.variance + share * (batch.var(0) - self.variance)

    def normalise(self, batch):
        return (batch - self.mean) / (self.variance + 1e-8).sqrt()


class RecurrentPolicy(nn.Module):
    def __init__(self, size=5, hidden=16, actions=3):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.GRUCell(size, hidden)
        self.head = nn.Linear(hidden, actions)
        self.state = None

    def reset(self, count):
        device = self.head.weight.device
        self.state = torch.zeros(count, self.hidden, device=device)

    def forward(self, observation):
        self.state = self.cell(observation, self.state)
        return self.head(self.state)
