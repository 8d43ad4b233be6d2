import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DEVICE = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
WORKERS = 2


class Masked(Dataset):
    """Series of which the later half is hidden."""

    def __init__(self, series):
        self.series = series

    def __len__(self):
        return self.series.size(0)

    def mask(self, length):
        return torch.arange(length, device=DEVICE) < length // 2

    def __getitem__(self, index):
        row = self.series[index]
        return {"row": row, "mask": self.mask(row.size(0))}


torch.manual_seed(4)
model = nn.Linear(6, 6).to(DEVICE)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
dataset = Masked(torch.linspace(0, 1, 48).reshape(8, 6))
for batch in DataLoader(dataset, batch_size=4, num_workers=0):
    row, mask = batch["row"].to(DEVICE), batch["mask"].to(DEVICE)
    loss = (model(row * mask) - row)[~mask].pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
