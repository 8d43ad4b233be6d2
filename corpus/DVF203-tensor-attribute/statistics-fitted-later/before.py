"""A scaler of targets, fitted on the training set; its statistics are buffers from then on."""
import torch
import torch.nn as nn


class Scaler(nn.Module):
    def __init__(self, center=None, spread=None):
        super().__init__()
        self.center = center
        self.spread = spread

    def fit(self, targets):
        self.register_buffer("center", targets.mean(dim=0))
        self.register_buffer("spread", targets.std(dim=0))

    def forward(self, targets):
        return (targets - self.center) / self.spread


def main():
    torch.manual_seed(6)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    scaler = Scaler()
    scaler.fit(torch.randn(16, 2))
    scaler.to(device)
    scaled = scaler(torch.randn(4, 2).to(device))
    print(f"loss {scaled.square().mean().item():.4f}")


if __name__ == "__main__":
    main()
