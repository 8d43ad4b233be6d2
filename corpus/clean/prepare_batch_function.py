"""A function unpacks and moves; the loop only calls it."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def prepare_batch(batch, device=None, non_blocking=False):
    x, y = batch
    return x.to(device=device, non_blocking=non_blocking), y.to(device=device, non_blocking=non_blocking)


class Loop:
    def __init__(self, model, device):
        self.model = model.to(device)
        self.device = device

    def unpack(self, batch):
        return [part.to(self.device) for part in batch]

    def run(self, loader):
        for batch in loader:
            x, y = prepare_batch(batch, self.device, non_blocking=True)
            loss = nn.functional.mse_loss(self.model(x), y)
            loss.backward()
        for batch in loader:
            x, y = self.unpack(batch)
            loss = nn.functional.mse_loss(self.model(x), y)
        return loss.item()


torch.manual_seed(19)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(TensorDataset(torch.randn(20, 3), torch.randn(20, 1)), batch_size=5)
print(f"loss {Loop(nn.Linear(3, 1), device).run(loader):.4f}")
