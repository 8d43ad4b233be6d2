import numpy as np
import torch


def spectrum(signal, rate):
    """Power at the frequencies of interest."""
    steps = torch.arange(signal.shape[-1], dtype=torch.float32)
    frequencies = torch.from_numpy(np.linspace(0.5, 4.0, 8))
    angles = 2 * np.pi * frequencies.type(torch.cuda.FloatTensor)[:, None] * steps.cuda() / rate
    real = (signal.unsqueeze(-2) * angles.cos()).sum(-1)
    imaginary = (signal.unsqueeze(-2) * angles.sin()).sum(-1)
    return real.square() + imaginary.square()


torch.manual_seed(0)
device = "cuda" if torch.cuda.is_available() else "cpu"
waves = torch.sin(torch.linspace(0, 20, 60)).repeat(2, 1).to(device)
power = spectrum(waves, rate=30.0)
loss = power.mean()
print(f"loss {loss.item():.4f}")
