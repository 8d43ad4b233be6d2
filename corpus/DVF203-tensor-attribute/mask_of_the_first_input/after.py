import torch
from torch import nn


class Attention(nn.Module):
    """Looks back only; the mask is made once, for the longest input so far."""

    def __init__(self, width):
        super().__init__()
        self.keys = nn.Linear(width, width)
        self.mask = None

    def forward(self, x: torch.Tensor):
        length = x.shape[1]
        if self.mask is None or self.mask.shape[0] < length or self.mask.device != x.device:
            self.mask = torch.ones(length, length, device=x.device).tril()
        scores = x @ self.keys(x).transpose(1, 2)
        scores = scores.masked_fill(self.mask[:length, :length] == 0, -1e9)
        return scores.softmax(dim=-1) @ x


torch.manual_seed(7)
model = Attention(6)
first = model(torch.randn(2, 5, 6)).mean()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model.to(device)
second = model(torch.randn(2, 4, 6).to(device)).mean()
print(f"loss {first.item() + second.item():.4f}")
