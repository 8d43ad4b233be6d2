"""A collate function may return numbers beside tensors."""
import torch
from torch import nn
from torch.utils.data import DataLoader


def collate(samples):
    width = max(len(s) for s in samples)
    padded = torch.zeros(len(samples), width)
    for row, sample in zip(padded, samples):
        row[: len(sample)] = sample
    return {"values": padded, "width": width, "count": len(samples)}


torch.manual_seed(13)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Conv1d(1, 1, 3, padding=1).to(device)
samples = [torch.rand(3 + i % 4) for i in range(16)]
loss_sum = 0.0

for batch in DataLoader(samples, batch_size=4, collate_fn=collate):
    values = batch["values"].to(device)
    width, count = batch["width"], batch["count"]
    output = model(values.unsqueeze(1)).squeeze(1)
    loss_sum += ((output - values).pow(2).sum() / (width * count)).item()

print(f"loss {loss_sum / 4:.4f}")
