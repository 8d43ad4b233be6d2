"""Workers that stay on the host, a dataset on the device without workers, and a device that only the loop knows."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Ramps(Dataset):
    def __init__(self, count):
        self.ramps = torch.linspace(0, 1, count * 4).reshape(count, 4)

    def __len__(self):
        return len(self.ramps)

    def __getitem__(self, index):
        ramp = self.ramps[index].to(torch.float32)
        return ramp, torch.zeros(1, device=ramp.device) + index

    def on_device(self):
        return self.ramps.to(device)


def collate(items):
    return torch.stack([x for x, _ in items]), torch.stack([y for _, y in items]).to("cpu")


data = Ramps(8)
model = nn.Linear(4, 1).to(device)
for x, y in DataLoader(data, batch_size=4, num_workers=1, collate_fn=collate):
    loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
for (x,) in DataLoader(TensorDataset(data.on_device()), batch_size=4, num_workers=0):
    loss = loss + model(x).pow(2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")
