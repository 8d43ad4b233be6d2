import torch
import torch.nn as nn
from torch.utils.data import DataLoader


class Generator(nn.Module):
    def __init__(self, nz=6):
        super().__init__()
        self.net = nn.Sequential(nn.ConvTranspose2d(nz, 8, 4), nn.ReLU(), nn.ConvTranspose2d(8, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 1, 4))

    def forward(self, x):
        return self.net(x).flatten()


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    generator = Generator()
    discriminator = Discriminator().to(device)
    generator.to(device)
    optim_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optim_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()

    for real in DataLoader(torch.rand(12, 1, 8, 8) * 2 - 1, batch_size=4):
        real = real.to(device)
        ones = torch.ones(real.size(0), device=device)
        zeros = torch.zeros(real.size(0), device=device)
        fake = generator(torch.randn(real.size(0), 6, 1, 1, device=device))

        loss_d = criterion(discriminator(real), ones) + criterion(discriminator(fake.detach()), zeros)
        optim_d.zero_grad()
        loss_d.backward()
        optim_d.step()

        loss_g = criterion(discriminator(fake), ones)
        optim_g.zero_grad()
        loss_g.backward()
        optim_g.step()
    print(f"loss {loss_d.item():.4f}")


main()
