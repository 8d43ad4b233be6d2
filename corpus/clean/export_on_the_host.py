"""Training on the device, export from the host with a host example."""
import io

import torch
from torch import nn


def train(model, device):
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(16, 4).to(device)
    for _ in range(3):
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def export(model):
    model.cpu().eval()
    example = torch.randn(1, 4)
    with torch.no_grad():
        expected = model(example)
    buffer = io.BytesIO()
    torch.save({"weights": model.state_dict(), "expected": expected}, buffer)
    buffer.seek(0)
    restored = nn.Linear(4, 2)
    restored.load_state_dict(torch.load(buffer, map_location="cpu")["weights"])
    return torch.equal(restored(example), expected)


torch.manual_seed(42)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2)
loss = train(model, device)
print("export agrees:", export(model))
print(f"loss {loss:.4f}")
