import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(8)
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
STEPS = 6

series = torch.sin(torch.arange(0, 60, 0.25))
windows = series.unfold(0, 13, 1)
dataset = TensorDataset(windows[:, :12].unsqueeze(-1), windows[:, 12:])
loader = DataLoader(dataset, batch_size=32)


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(1, 16, batch_first=True)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states[:, -1])


model = Forecaster().to(DEVICE)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
criterion = nn.L1Loss()

for step, batch in enumerate(loader):
    inputs = batch[0].to(DEVICE)
    targets = batch[1].to(DEVICE)
    loss = criterion(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step + 1 == STEPS:
        break

print(f"loss {loss.item():.4f}")
