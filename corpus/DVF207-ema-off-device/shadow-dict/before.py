import torch
from torch import nn


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {name: p.detach().cpu().clone() for name, p in model.named_parameters() if p.requires_grad}

    def update(self, model):
        with torch.no_grad():
            for name, param in model.named_parameters():
                if param.requires_grad:
                    self.shadow[name].mul_(self.decay).add_(param, alpha=1 - self.decay)

    def norm(self):
        return sum(v.norm().item() for v in self.shadow.values())


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Conv1d(4, 1, 3)).to(device)
ema = EMA(net, decay=0.95)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

for step in range(4):
    signal = torch.randn(6, 1, 20, device=device)
    loss = (net(signal) - signal[:, :, 2:-2]).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(net)

print(f"norm {ema.norm():.3f}")
print(f"loss {loss.item():.4f}")
