"""A small GAN on two-dimensional points."""

import torch
from torch import nn

LATENT = 8
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def real_points(count):
    angle = torch.rand(count) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1)


def main():
    torch.manual_seed(0)
    generator = Generator().to(device)
    discriminator = Discriminator().to(device)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
    criterion = nn.BCEWithLogitsLoss()
    loader = torch.utils.data.DataLoader(real_points(256), batch_size=64, shuffle=True)
    fixed_noise = torch.randn(16, LATENT, device=device)

    for epoch in range(2):
        for real in loader:
            real = real.to(device)
            count = real.size(0)
            real_labels = torch.full((count,), 0.9, device=device)
            fake_labels = torch.zeros(count, device=device)

            noise = torch.randn(count, LATENT, device=device)
            fake = generator(noise)
            loss_d = criterion(discriminator(real), real_labels)
            loss_d = loss_d + criterion(discriminator(fake.detach()), fake_labels)
            optimizer_d.zero_grad()
            loss_d.backward()
            optimizer_d.step()

            loss_g = criterion(discriminator(fake), real_labels)
            optimizer_g.zero_grad()
            loss_g.backward()
            optimizer_g.step()
        with torch.no_grad():
            sample = generator(fixed_noise)
        print(f"epoch {epoch}: D {loss_d.item():.4f} G {loss_g.item():.4f} spread {sample.std().item():.4f}")


if __name__ == "__main__":
    main()
