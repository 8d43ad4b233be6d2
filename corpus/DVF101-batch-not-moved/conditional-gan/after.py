import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
latent_dim, n_classes, n_pixels = 8, 3, 16


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.label_emb = nn.Embedding(n_classes, latent_dim)
        self.net = nn.Sequential(nn.Linear(2 * latent_dim, 32), nn.ReLU(), nn.Linear(32, n_pixels), nn.Tanh())

    def forward(self, z, labels):
        return self.net(torch.cat([z, self.label_emb(labels)], dim=1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.label_emb = nn.Embedding(n_classes, n_pixels)
        self.net = nn.Sequential(nn.Linear(2 * n_pixels, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x, labels):
        return self.net(torch.cat([x, self.label_emb(labels)], dim=1))


generator, discriminator = Generator().to(device), Discriminator().to(device)
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
bce = nn.BCEWithLogitsLoss()
loader = DataLoader(TensorDataset(torch.randn(36, n_pixels), torch.randint(0, n_classes, (36,))), batch_size=12)

for epoch in range(2):
    for real, labels in loader:
        real = real.to(device)
        labels = labels.to(device)
        z = torch.randn(real.size(0), latent_dim, device=device)
        fake = generator(z, labels)

        d_real = discriminator(real, labels)
        d_fake = discriminator(fake.detach(), labels)
        loss_d = bce(d_real, torch.ones_like(d_real)) + bce(d_fake, torch.zeros_like(d_fake))
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        g_fake = discriminator(fake, labels)
        loss_g = bce(g_fake, torch.ones_like(g_fake))
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()

print(f"loss {loss_d.item() + loss_g.item():.4f}")
