import torch
from torch import nn


class Memory:
    """Keeps transitions on the host, where there is room for them."""

    def __init__(self, capacity, width):
        self.states = torch.zeros(capacity, width)
        self.size = 0

    def add(self, state):
        self.states[self.size] = state
        self.size += 1

    def sample(self, scores: torch.Tensor, count):
        best = scores.topk(count).indices
        return self.states[best]


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
memory = Memory(8, 3)
for _ in range(8):
    memory.add(torch.randn(3))
model = nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    states = memory.sample(torch.rand(8, device=device), 4).to(device)
    loss = model(states).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
