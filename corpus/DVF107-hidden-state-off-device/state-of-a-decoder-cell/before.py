import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.width = width
        self.cell = nn.GRUCell(3, width)
        self.head = nn.Linear(width, 1)

    def forward(self, steps):
        state = torch.zeros(steps.size(1), self.width)
        for step in steps:
            state = self.cell(step, state)
        return self.head(state)


torch.manual_seed(6)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Counter().to(device)
steps = torch.randn(4, 2, 3, device=device)
loss = model(steps).pow(2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")
