import random
from collections import deque

import numpy as np
import torch


class ReplayBuffer:
    """Transitions on the host; a sample of them is on the device."""

    def __init__(self, capacity, device):
        self.memory = deque(maxlen=capacity)
        self.device = device

    def push(self, state, action, reward, following, done):
        self.memory.append((state, action, reward, following, done))

    def sample(self, count):
        rows = random.sample(self.memory, count)
        states, actions, rewards, following, dones = zip(*rows)
        return (
            torch.from_numpy(np.stack(states)).to(self.device),
            torch.tensor(actions, device=self.device).unsqueeze(1),
            torch.tensor(rewards, dtype=torch.float32, device=self.device),
            torch.from_numpy(np.stack(following)).to(self.device),
            torch.tensor(dones, dtype=torch.float32, device=self.device),
        )

    def __len__(self):
        return len(self.memory)
