import torch
import torch.nn as nn


class DiffusionTrainer:
    def __init__(self, steps=20):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.net = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2)).to(self.device)
        self.alphas = torch.linspace(0.99, 0.5, steps).to(self.device)
        self.steps = steps
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3)

    def training_step(self, x, t):
        x = x.to(self.device, non_blocking=True)
        t = t.to(self.device, non_blocking=True)
        alpha = self.alphas[t].unsqueeze(1)
        noise = torch.randn_like(x)
        noisy = alpha.sqrt() * x + (1 - alpha).sqrt() * noise
        time = t.unsqueeze(1) / self.steps
        predicted = self.net(torch.cat([noisy, time], dim=1))
        loss = (predicted - noise).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


torch.manual_seed(7)
trainer = DiffusionTrainer()
for _ in range(4):
    points = torch.randn(16, 2)
    moments = torch.randint(0, trainer.steps, (16,))
    loss = trainer.training_step(points, moments)
print(f"loss {loss.item():.4f}")
