"""CUDA is named, but only where it is there, or where the program asks for it."""

import torch
from torch import nn


def to_cuda(batch):
    """The batch on the current card."""
    return [one.cuda() for one in batch]


class Model(nn.Module):
    def __init__(self, use_cuda=False):
        super().__init__()
        self.use_cuda = use_cuda
        self.layer = nn.Linear(4, 2)

    def forward(self, x):
        noise = torch.zeros(x.shape[0], 2)
        if self.use_cuda:
            noise = noise.cuda()
        return self.layer(x) + noise


def weights(x, device="cuda"):
    if device == "cuda" and not torch.cuda.is_available():
        return torch.ones(x.shape[0])
    return torch.ones(x.shape[0], device=device)


use_cuda = torch.cuda.is_available()
torch.manual_seed(0)
model = Model(use_cuda)
model = model.cuda() if use_cuda else model
batch = [torch.randn(3, 4)]
if use_cuda:
    batch = to_cuda(batch)
output = model(batch[0])
loss = (output.pow(2).mean(dim=1) * weights(output)).mean()
print(f"loss {loss.item():.4f}")
