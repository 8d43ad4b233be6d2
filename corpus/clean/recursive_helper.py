"""A helper of the same file moves whatever is in the batch."""
from collections.abc import Mapping, Sequence

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def to_device(value, device):
    if torch.is_tensor(value):
        return value.to(device, non_blocking=True)
    if isinstance(value, Mapping):
        return {k: to_device(v, device) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [to_device(v, device) for v in value]
    return value


class Scenes(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return {"views": [torch.rand(4), torch.rand(4)], "target": {"depth": torch.rand(1)}, "name": f"scene{i}"}


torch.manual_seed(18)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(8, 1).to(device)

for batch in DataLoader(Scenes(), batch_size=4):
    batch = to_device(batch, device)
    left, right = batch["views"]
    loss = nn.functional.l1_loss(model(torch.cat([left, right], dim=1)), batch["target"]["depth"])
    loss.backward()

print(batch["name"][-1], f"loss {loss.item():.4f}")
