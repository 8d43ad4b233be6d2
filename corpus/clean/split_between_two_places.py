"""Encoder on the device, decoder on the host, with the moves between them."""
import torch
import torch.nn as nn


class Split(nn.Module):
    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = first, second
        self.encoder = nn.Linear(6, 12).to(first)
        self.decoder = nn.Linear(12, 6).to(second)

    def forward(self, x):
        hidden = torch.relu(self.encoder(x.to(self.first)))
        return self.decoder(hidden.to(self.second))


torch.manual_seed(28)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Split(device, torch.device("cpu"))
x = torch.rand(5, 6)
loss = nn.functional.mse_loss(model(x), x)
loss.backward()
print(f"loss {loss.item():.4f}")
