import torch
from torch import nn


class Relative(nn.Module):
    def __init__(self, size=4, heads=2):
        super().__init__()
        self.bias = nn.Embedding(2 * size - 1, heads)
        self.offsets = (
            torch.arange(size)[:, None]  # to
            - torch.arange(size)[None, :]  # from
            + 3
        )
        self.size = size

    def forward(self, scores):
        bias = self.bias(self.offsets)
        return scores + bias.permute(2, 0, 1)


torch.manual_seed(6)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
layer = Relative().to(device)
scores = torch.randn(3, 2, 4, 4).to(device)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
for _ in range(3):
    loss = layer(scores).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
