"""Moving a module is done in place: the statement is enough."""
import torch
import torch.nn as nn


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(6, 2)
        self.decoder = nn.Linear(2, 6)

    def forward(self, x):
        return self.decoder(torch.relu(self.encoder(x)))


class Experiment:
    def __init__(self):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = Autoencoder()
        self.critic = nn.Sequential(nn.Linear(6, 1))
        self.model.to(self.device)
        self.critic.to(self.device)

    def loss(self, x):
        x = x.to(self.device)
        y = self.model(x)
        return (y - x).pow(2).mean() - 0.1 * self.critic(y).mean()


torch.manual_seed(4)
print(f"loss {Experiment().loss(torch.rand(7, 6)).item():.4f}")
