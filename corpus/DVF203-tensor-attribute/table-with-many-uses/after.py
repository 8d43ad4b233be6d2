import torch
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, net, steps=20):
        super().__init__()
        self.net = net
        betas = torch.linspace(1e-4, 0.02, steps)
        self.register_buffer("alphas", torch.cumprod(1 - betas, dim=0), persistent=False)
        self.steps = steps

    def noised(self, x, t, noise):
        return self.alphas[t, None].sqrt() * x + (1 - self.alphas[t, None]).sqrt() * noise

    def weight(self, t):
        return self.alphas[t] / (1 - self.alphas[t])

    def forward(self, x):
        t = torch.randint(0, self.steps, (x.size(0),), device=x.device)
        noise = torch.randn_like(x)
        noised = self.noised(x, t, noise)
        error = (self.net(noised) - noise).pow(2).mean(dim=1)
        return (error * self.weight(t).clamp(max=5)).mean()


torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Diffusion(nn.Linear(6, 6)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
data = torch.randn(12, 6).to(device)
for _ in range(4):
    loss = model(data)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
