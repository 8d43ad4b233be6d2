import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(9)


class AutoEncoder(nn.Module):
    def __init__(self, n_features, n_hidden):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_features, n_hidden), nn.ReLU())
        self.decoder = nn.Linear(n_hidden, n_features)

    def forward(self, x):
        return self.decoder(self.encoder(x))


samples = torch.rand(100, 20)
loader = DataLoader(samples, batch_size=25, shuffle=True)

device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
autoencoder = AutoEncoder(20, 6).to(device)
optimizer = torch.optim.Adam(autoencoder.parameters(), lr=1e-2)

history = []
for epoch in range(4):
    epoch_loss = 0.0
    for x in loader:
        x = x.to(device, non_blocking=True)
        reconstruction = autoencoder(x)
        loss = ((reconstruction - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * x.size(0)
    history.append(epoch_loss / len(samples))

print(f"loss {history[-1]:.4f}")
