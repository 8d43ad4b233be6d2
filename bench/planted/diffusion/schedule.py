import torch


class NoiseSchedule:
    """The variances of a diffusion process, and what follows from them."""

    def __init__(self, steps, device, start=1e-4, end=0.02):
        self.steps = steps
        self.device = device
        self.betas = torch.linspace(start, end, steps, device=device)
        self.alphas = 1.0 - self.betas
        self.alpha_bars = torch.cumprod(self.alphas, dim=0)

    def add_noise(self, x, t):
        alpha_bar = self.alpha_bars[t].view(-1, 1)
        noise = torch.randn_like(x)
        return alpha_bar.sqrt() * x + (1 - alpha_bar).sqrt() * noise, noise

    def sample_steps(self, count):
        return torch.randint(0, self.steps, (count,), device=self.device)
