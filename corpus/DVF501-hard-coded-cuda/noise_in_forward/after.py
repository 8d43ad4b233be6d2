import torch
from torch import nn


class Generator(nn.Module):
    """Adds noise to a code before it is decoded."""

    def __init__(self, size, noise):
        super().__init__()
        self.noise = noise
        self.decode = nn.Sequential(nn.Linear(size + noise, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, code):
        extra = torch.zeros(code.shape[0], self.noise).to(code.device)
        return self.decode(torch.cat([code, extra], dim=1))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = Generator(6, 2).to(device)
samples = net(torch.randn(5, 6, device=device))
loss = samples.pow(2).mean()
print(f"loss {loss.item():.4f}")
