"""Strings in a batch have no device."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Pictures(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.rand(3, 8, 8, generator=g), f"a picture of thing {i}", {"path": f"images/{i:04d}.png", "id": i}


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 8)
        self.length = nn.Linear(4, 1)

    def forward(self, image, caption):
        target = torch.tensor([[float(len(c))] for c in caption], device=image.device)
        return nn.functional.mse_loss(self.length(self.conv(image).flatten(1)), target / 20)


torch.manual_seed(12)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Captioner().to(device)
done = []

for image, caption, meta in DataLoader(Pictures(), batch_size=4):
    image = image.to(device, non_blocking=True)
    loss = model(image, caption)
    loss.backward()
    done += [path.rsplit("/", 1)[-1] for path in meta["path"]]
    print(caption[0], meta["id"].tolist())

print(len(done), f"loss {loss.item():.4f}")
