"""Parts of a batch that may be None, or are used for their shape only."""
import torch
from torch import nn
from torch.utils.data import DataLoader


def collate(items):
    x = torch.stack([a for a, _ in items])
    y = None if items[0][1] is None else torch.stack([b for _, b in items])
    return x, y


torch.manual_seed(41)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(3, 2).to(device)
labelled = [(torch.randn(3), torch.tensor(i % 2)) for i in range(6)]
unlabelled = [(torch.randn(3), None) for _ in range(6)]
loss_sum, seen = 0.0, 0

for items in (labelled, unlabelled):
    for x, y in DataLoader(items, batch_size=3, collate_fn=collate):
        seen += x.size(0)
        x = x.to(device)
        y = y.to(device) if y is not None else None
        logits = model(x)
        if y is None:
            loss = -logits.softmax(1).max(1).values.mean()
        else:
            loss = nn.functional.cross_entropy(logits, y)
        loss_sum += loss.item()

for x, original in DataLoader(labelled, batch_size=2):
    print(x.shape, original.numel(), original.tolist())
    break

print(seen, f"loss {loss_sum / 4:.4f}")
