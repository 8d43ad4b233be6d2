import io

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def save(model):
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "random_state": torch.get_rng_state()}, file)
    file.seek(0)
    return file


def resume(model, file):
    checkpoint = torch.load(file, map_location=device)
    model.load_state_dict(checkpoint["model"])
    torch.set_rng_state(checkpoint["random_state"])


torch.manual_seed(2)
model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 1)).to(device)
file = save(model)
resume(model, file)
x = torch.ones(4, 3).to(device)
loss = model(x).pow(2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")
