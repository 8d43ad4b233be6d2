"""States of random generators are host tensors."""
import random

import numpy as np
import torch


def save_states():
    states = {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state_all()
    return states


def load_states(states):
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"].cpu())
    if torch.cuda.is_available():
        torch.cuda.set_rng_state_all(states["cuda"])


torch.manual_seed(6)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
states = save_states()
first = torch.rand(4, device=device)
load_states(states)
second = torch.rand(4, device=device)
print(f"loss {(first - second).abs().sum().item():.4f}")
