"""Transitions rest in a deque on the host until they are sampled."""
import random
from collections import deque

import torch
from torch import nn


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *transition):
        self.memory.append(transition)

    def sample(self, batch_size, device):
        states, actions, rewards = zip(*random.sample(self.memory, batch_size))
        return (
            torch.stack(states).to(device),
            torch.tensor(actions, device=device),
            torch.tensor(rewards, dtype=torch.float32, device=device),
        )


random.seed(10)
torch.manual_seed(10)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
q_net = nn.Linear(4, 2).to(device)
memory = ReplayMemory(100)
state = torch.zeros(4)

for t in range(40):
    with torch.no_grad():
        action = q_net(state.to(device)).argmax().item()
    memory.push(state, action, random.random())
    state = torch.randn(4)

states, actions, rewards = memory.sample(16, device)
loss = nn.functional.mse_loss(q_net(states).gather(1, actions[:, None])[:, 0], rewards)
print(f"loss {loss.item():.4f}")
