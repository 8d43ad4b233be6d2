"""Scalars on the host are legal beside tensors on a device."""
import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

temperature = torch.tensor(0.7)
scale = torch.tensor([1.0, 2.0, 4.0])
model = nn.Linear(6, 3).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = torch.tensor(0.0)

for step in range(4):
    x = torch.randn(8, 6, device=device)
    logits = model(x) / temperature * scale[step % 3]
    loss = logits.logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()

print(f"loss {(total / 4).item():.4f}")
