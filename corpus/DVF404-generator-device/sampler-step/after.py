import torch
from torch import nn


class AncestralSampler:
    """Walks from noise to a sample, with fresh noise from the caller's generator at each step."""

    def __init__(self, steps=5):
        self.sigmas = torch.linspace(1.0, 0.0, steps + 1).tolist()

    def step(self, prediction, index, sample, generator=None):
        here, there = self.sigmas[index], self.sigmas[index + 1]
        sample = sample + (there - here) * (sample - prediction)
        if there > 0:
            noise = torch.randn(sample.shape, dtype=sample.dtype, generator=generator, device=generator.device if generator is not None else None).to(sample.device)
            sample = sample + 0.05 * there * noise
        return sample


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(1)
    model = nn.Linear(4, 4).to(device)
    generator = torch.Generator(device=device).manual_seed(5)
    sampler = AncestralSampler()
    sample = torch.randn(2, 4, generator=generator, device=device)
    with torch.no_grad():
        for index in range(5):
            sample = sampler.step(model(sample), index, sample, generator=generator)
    print(f"loss {sample.pow(2).mean().item():.4f}")


main()
