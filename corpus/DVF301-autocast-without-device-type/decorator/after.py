import torch
from torch import nn
from torch.amp import autocast


class StableNorm(nn.Module):
    """Normalises in full precision whatever the surrounding region says."""

    def __init__(self, dim):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(dim))

    @autocast('cuda', enabled=False)
    def forward(self, x):
        x = x.float()
        return self.scale * x / x.pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()


torch.manual_seed(5)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
model = nn.Sequential(nn.Linear(7, 14), StableNorm(14), nn.Linear(14, 1)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

for step in range(4):
    x = torch.randn(9, 7, device=device)
    with autocast('cuda', dtype=torch.bfloat16):
        loss = (model(x).squeeze(1) - x[:, 0]).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print('loss %.4f' % loss.item())
