import math

import torch
from torch import nn
from torch.nn import functional as F
from torch.cuda.amp import autocast


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.dim = dim

    @autocast()
    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return self.attend(q, k, v)

    @torch.cuda.amp.autocast(enabled=False)
    def attend(self, q, k, v):
        weights = F.softmax(q.float() @ k.float().transpose(-2, -1) / math.sqrt(self.dim), dim=-1)
        return weights @ v.float()


def main():
    torch.manual_seed(3)
    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
    layer = Attention(8).to(device)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    for step in range(3):
        x = torch.randn(2, 6, 8, device=device)
        loss = F.mse_loss(layer(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print('loss {:.4f}'.format(loss.item()))


main()
