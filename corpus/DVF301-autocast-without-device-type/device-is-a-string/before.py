import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(6)


class MLPMixerBlock(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.token_mix = nn.Linear(tokens, tokens)
        self.channel_mix = nn.Linear(dim, dim)

    def forward(self, x):
        x = x + self.token_mix(self.norm(x).transpose(1, 2)).transpose(1, 2)
        return x + F.gelu(self.channel_mix(x))


block = MLPMixerBlock(tokens=5, dim=8).to(device)
optimizer = torch.optim.Adam(block.parameters(), lr=1e-3)
x = torch.randn(4, 5, 8, device=device)

for _ in range(3):
    with torch.autocast(dtype=torch.bfloat16, cache_enabled=False):
        loss = F.mse_loss(block(x), x.flip(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.2f}")
