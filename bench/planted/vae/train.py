import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class VAE(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Linear(36, 24)
        self.mean = nn.Linear(24, latent)
        self.log_variance = nn.Linear(24, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, 36), nn.Sigmoid())

    def reparameterise(self, mean, log_variance):
        deviation = torch.exp(0.5 * log_variance)
        noise = torch.randn(deviation.size(), device=deviation.device)
        return mean + noise * deviation

    def forward(self, x):
        hidden = F.relu(self.encoder(x.view(-1, 36)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        return self.decoder(self.reparameterise(mean, log_variance)), mean, log_variance


def loss_function(reconstruction, x, mean, log_variance):
    likelihood = F.binary_cross_entropy(reconstruction, x.view(-1, 36), reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return likelihood + divergence


def test(model, loader):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for data, _ in loader:
            data = data.to(device)
            reconstruction, mean, log_variance = model(data)
            total += loss_function(reconstruction, data, mean, log_variance).item()
    return total / len(loader.dataset)


def main():
    torch.manual_seed(1)
    images = torch.rand(96, 1, 6, 6)
    loader = DataLoader(TensorDataset(images, torch.zeros(96)), batch_size=32)
    model = VAE().to(device)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        for data, _ in loader:
            data = data.to(device)
            optimizer.zero_grad()
            reconstruction, mean, log_variance = model(data)
            loss = loss_function(reconstruction, data, mean, log_variance)
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: test {test(model, loader):.3f}")
        with torch.no_grad():
            sample = torch.randn(8, model.latent).to(device)
            print(f"sample {model.decoder(sample).mean().item():.2f}")


main()
