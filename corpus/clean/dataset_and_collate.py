"""Datasets and collate functions work on the host, also with workers."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Spectra(Dataset):
    def __init__(self, count, augment=False):
        self.table = np.random.default_rng(14).random((count, 16), dtype=np.float32)
        self.mean = torch.from_numpy(self.table.mean(axis=0))
        self.augment = augment

    def __len__(self):
        return len(self.table)

    def __getitem__(self, index):
        x = torch.from_numpy(self.table[index]) - self.mean
        if self.augment:
            x = x + 0.01 * torch.randn(16)
        return x, torch.tensor(float(x[0] > 0))


def collate_fn(batch):
    xs, ys = zip(*batch)
    return torch.stack(xs), torch.stack(ys)


def main():
    torch.manual_seed(14)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(Spectra(32, augment=True), batch_size=8, collate_fn=collate_fn, pin_memory=device.type == "cuda")
    model = nn.Linear(16, 1).to(device)
    for x, y in loader:
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        loss.backward()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
