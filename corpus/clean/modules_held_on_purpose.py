"""Lists of modules that are registered otherwise, kept out on purpose, or no part of a module at all."""

import torch
from torch import nn


class Named(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = []
        for i in range(depth):
            layer = nn.Linear(4, 4)
            self.add_module(f"layer{i}", layer)
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).tanh()
        return x


class Spread(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(4, 8)
        self.down = nn.Linear(8, 4)
        self.both = [self.up, self.down]
        layers = [nn.Linear(4, 4), nn.ReLU()]
        layers.append(nn.Linear(4, 1))
        self.layers = layers
        self.net = nn.Sequential(*self.layers)
        self.acts = {"relu": nn.ReLU(), "tanh": nn.Tanh()}

    def forward(self, x):
        for part in self.both:
            x = self.acts["tanh"](part(x))
        return self.net(x)


class Distilled(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.student = Spread()
        self.teacher = [teacher]  # a list keeps it out of parameters() and state_dict()

    def forward(self, x):
        with torch.no_grad():
            wanted = self.teacher[0](x)
        return self.student(x), wanted


class Ensemble:
    def __init__(self, size, device):
        self.members = [Named(2).to(device) for _ in range(size)]

    def __call__(self, x):
        return torch.stack([member(x) for member in self.members]).mean(dim=0)


def main():
    torch.manual_seed(2)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(5, 4, device=device)
    distilled = Distilled(Spread().to(device)).to(device)
    found, wanted = distilled(Ensemble(2, device)(x))
    print(f"loss {nn.functional.mse_loss(found, wanted).item():.4f}")


if __name__ == "__main__":
    main()
