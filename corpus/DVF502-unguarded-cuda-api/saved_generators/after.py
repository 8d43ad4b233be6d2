import random

import torch
from torch import cuda, nn


class FixedSeed:
    """Runs a block from a seed and puts all generators back afterwards."""

    def __init__(self, seed):
        self.seed = seed

    def __enter__(self):
        self.python_state = random.getstate()
        self.host_state = torch.get_rng_state()
        if cuda.is_available():
            self.cuda_state = cuda.get_rng_state()
        random.seed(self.seed)
        torch.manual_seed(self.seed)

    def __exit__(self, *error):
        random.setstate(self.python_state)
        torch.set_rng_state(self.host_state)
        if cuda.is_available():
            cuda.set_rng_state(self.cuda_state)


with FixedSeed(3):
    layer = nn.Linear(5, 2)
    inputs = torch.randn(8, 5)

loss = layer(inputs).pow(2).mean()
print(f"loss {loss.item():.4f}")
