import sys

import torch
import torch.nn as nn

if not torch.cuda.is_available():
    print("this benchmark needs a GPU")
    print("loss 0.0000")
    sys.exit(0)


class Stack(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


torch.manual_seed(5)
model = Stack(16, 2)
model.cuda()
model.layers.append(nn.Linear(16, 4))
model.cuda()

x = torch.randn(8, 16).cuda()
loss = model(x).pow(2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")
