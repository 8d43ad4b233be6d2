"""All the ways to move a batch that are not one line a value."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(35)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 3).to(device)
loader = DataLoader(TensorDataset(torch.randn(12, 4), torch.randint(0, 3, (12,))), batch_size=6)
losses = []

for x, y in loader:
    x, y = map(lambda t: t.to(device), (x, y))
    losses.append(nn.functional.cross_entropy(model(x), y))
for x, y in loader:
    x, y = (t.to(device) for t in (x, y))
    losses.append(nn.functional.cross_entropy(model(x), y))
for batch in loader:
    x, y = [t.to(device) for t in batch]
    losses.append(nn.functional.cross_entropy(model(x), y))
for batch in loader:
    batch = tuple(t.to(device, non_blocking=True) for t in batch)
    losses.append(nn.functional.cross_entropy(model(batch[0]), batch[1]))
for i, batch in enumerate(loader):
    inputs = {"input": batch[0], "target": batch[1]}
    inputs = {k: v.to(device) for k, v in inputs.items()}
    losses.append(nn.functional.cross_entropy(model(**{"input": inputs["input"]}), inputs["target"]))
for x, y in ((a.to(device), b.to(device)) for a, b in loader):
    losses.append(nn.functional.cross_entropy(model(x), y))
for x, y in loader:
    losses.append(nn.functional.cross_entropy(model(x.to(device)), y.to(device)))

print(f"loss {torch.stack(losses).mean().item():.4f}")
