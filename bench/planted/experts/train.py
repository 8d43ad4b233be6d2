"""A mixture of experts, balanced by a loss."""

import torch
import torch.nn as nn


class Mixture(nn.Module):
    def __init__(self, dim, experts):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList([nn.Linear(dim, dim) for _ in range(experts)])
        self.register_buffer("uniform", torch.full((experts,), 1 / experts), persistent=False)

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        mixed = torch.stack([expert(x) for expert in self.experts], dim=-1)
        balance = (weights.mean(0) - self.uniform).pow(2).sum()
        return (mixed * weights.unsqueeze(1)).sum(-1), balance


class Network(nn.Module):
    def __init__(self, dim=8, depth=2, experts=3):
        super().__init__()
        self.blocks = nn.ModuleList(Mixture(dim, experts) for _ in range(depth))
        self.head = nn.Linear(dim, 1)

    def forward(self, x):
        balance = x.new_zeros(())
        for block in self.blocks:
            update, one = block(x)
            x, balance = x + update, balance + one
        return self.head(x).squeeze(-1), balance


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = Network()
    network.to(device)
    optimizer = torch.optim.RMSprop(network.parameters(), lr=1e-3)
    inputs = torch.randn(60, 8)
    wanted = inputs.pow(2).sum(1)
    for epoch in range(2):
        for start in range(0, 60, 20):
            x = inputs[start : start + 20].to(device)
            y = wanted[start : start + 20].to(device)
            output, balance = network(x)
            loss = (output - y).pow(2).mean() + 0.1 * balance
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(epoch, f"{loss.item():.4f}")


if __name__ == "__main__":
    main()
