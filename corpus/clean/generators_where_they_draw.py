"""Generators on the device that they fill, noise that the host draws on purpose, and states that stay on the host."""
import torch
from torch import nn
from torch.utils.data import RandomSampler, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_device = torch.Generator(device=device).manual_seed(1)
on_host = torch.Generator().manual_seed(2)


def latents(shape, target, generator=None):
    return torch.randn(shape, generator=generator).to(target)


def jitter(sample, generator):
    return sample + 0.1 * torch.randn(sample.shape, generator=generator, device=generator.device).to(sample.device)


state = torch.get_rng_state()
model = nn.Linear(4, 2).to(device)
torch.set_rng_state(state)
x = torch.rand(8, 4, generator=on_device, device=device)
x.add_(torch.zeros_like(x).uniform_(-0.1, 0.1, generator=on_device))
x = jitter(x + latents((8, 4), device, on_host), on_host)
order = list(RandomSampler(TensorDataset(x), generator=on_host))
chosen = torch.multinomial(x.softmax(dim=1), 1, generator=on_device)
loss = nn.functional.cross_entropy(model(x[order]), chosen.squeeze(1) % 2)
loss.backward()
print(f"loss {loss.item():.4f}")
