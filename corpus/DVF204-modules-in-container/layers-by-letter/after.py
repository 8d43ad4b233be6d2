import torch
import torch.nn as nn


class Stack(nn.Module):
    """Layers by a string: c for a convolution, n for a norm, r for a rectifier."""

    def __init__(self, plan, channels):
        super(Stack, self).__init__()
        self.layers = nn.ModuleList()
        for letter in plan:
            if letter == "c":
                self.layers.append(nn.Conv1d(channels, channels, 3, padding=1))
            elif letter == "n":
                self.layers.append(nn.BatchNorm1d(channels))
            else:
                self.layers.append(nn.ReLU())
        self.out = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return self.out(x)


torch.manual_seed(11)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = Stack("cnrcnr", 4).to(device)
signal = torch.randn(8, 4, 20, device=device)
target = signal.mean(dim=1, keepdim=True)
loss = nn.functional.l1_loss(model(signal), target)
loss.backward()
print(f"loss {loss.item():.4f}")
