import torch
import torch.nn as nn
import torch.nn.functional as F


def make_encoder():
    encoder = nn.Sequential()
    encoder.add_module("linear", nn.Linear(12, 24))
    encoder.add_module("act", nn.ReLU())
    return encoder


def pretrain(encoder, device, steps=4):
    encoder.train()
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.05)
    for step in range(steps):
        x = torch.randn(16, 12, device=device)
        a = F.normalize(encoder(x + 0.05 * torch.randn_like(x)), dim=1)
        b = F.normalize(encoder(x + 0.05 * torch.randn_like(x)), dim=1)
        target = torch.arange(len(x), device=device)
        loss = F.cross_entropy(a @ b.T / 0.2, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(6)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    encoder = make_encoder().to(device)
    encoder.add_module("projection", nn.Linear(24, 8))
    encoder.to(device)
    print(f"loss {pretrain(encoder, device):.4f}")


if __name__ == "__main__":
    main()
