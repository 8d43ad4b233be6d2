import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, dim=6, latent=2):
        super().__init__()
        self.body = nn.Linear(dim, 8)
        self.mean = nn.Linear(8, latent)
        self.log_std = nn.Linear(8, latent)
        self.latent = latent

    def sample(self, features):
        hidden = torch.relu(self.body(features))
        mean, log_std = self.mean(hidden), self.log_std(hidden)
        noise = torch.randn(features.size(0), self.latent, device=log_std.device)
        return mean + noise * torch.exp(log_std)

    def forward(self, x):
        return self.sample(x)


torch.manual_seed(9)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
encoder = Encoder().to(device)
z = encoder(torch.randn(4, 6).to(device))
print(f"loss {z.abs().mean().item():.4f}")
