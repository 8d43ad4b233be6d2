import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 16), nn.ReLU())
        self.head = nn.Linear(16, 8)

    def forward(self, x):
        return self.head(self.body(x))


class FineTuner:
    def __init__(self, num_outputs):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = Encoder()
        self.model.to(self.device)
        self.model.head = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, num_outputs))
        self.optimizer = torch.optim.Adam(self.model.head.parameters(), lr=1e-2)

    def step(self, x, y):
        x, y = x.to(self.device), y.to(self.device)
        loss = nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(3)
tuner = FineTuner(num_outputs=2)
for _ in range(4):
    inputs = torch.randn(10, 6)
    loss = tuner.step(inputs, inputs[:, :2])
print(f"loss {loss:.4f}")
