import torch
from torch import nn

BLOCK, BATCH = 4, 6
device = "cuda" if torch.cuda.is_available() else "cpu"
tokens = torch.arange(80) * 7 % 11


def get_batch(start):
    x = torch.stack([tokens[start + i : start + i + BLOCK] for i in range(BATCH)])
    y = torch.stack([tokens[start + i + 1 : start + i + 1 + BLOCK] for i in range(BATCH)])
    x = (x.pin_memory() if torch.cuda.is_available() else x).to(device, non_blocking=True)
    y = (y.pin_memory() if torch.cuda.is_available() else y).to(device, non_blocking=True)
    return x, y


torch.manual_seed(3)
model = nn.Sequential(nn.Embedding(11, 16), nn.Linear(16, 11)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(5):
    x, y = get_batch(step * 8)
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
