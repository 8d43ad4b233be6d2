import torch
from torch import nn


def linear(count):
    return torch.linspace(1.0, 0.0, count + 1)


def cosine(count):
    return torch.cos(torch.linspace(0.0, 1.5, count + 1))


TABLES = {"linear": linear, "cosine": cosine}


class Schedule:
    def __init__(self, steps):
        self.tables = {kind: make(steps) for kind, make in TABLES.items()}


def spaced(count):
    return torch.linspace(1.0, 0.0, count + 1) ** 7


class Sampler:
    def __init__(self, denoiser, schedule):
        self.denoiser = denoiser
        self.schedule = schedule

    def run(self, latents, count, device, kind, spread=False):
        if spread:
            sigmas = spaced(count)
            sigmas = sigmas.to(device)
        else:
            sigmas = self.schedule.tables[kind]
        steps = sigmas[:-1] - sigmas[1:]
        weights = torch.stack([steps, sigmas[1:]], dim=1)
        for weight in weights:
            guess = self.denoiser(torch.cat([latents, weight.expand(len(latents), 2)], dim=1))
            latents = latents - guess * 0.1
        return latents


def main():
    torch.manual_seed(29)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    denoiser = nn.Linear(6, 4).to(device)
    sampler = Sampler(denoiser, Schedule(5))
    with torch.no_grad():
        latents = sampler.run(torch.randn(3, 4, device=device), 5, device, "cosine")
    print(f"loss {latents.square().mean().item():.4f}")


main()
