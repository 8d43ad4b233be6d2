import torch
from torch import nn

torch.manual_seed(1)
device = torch.cuda.current_device()

encoder = nn.Linear(3, 8).to(device)
head = nn.Linear(8, 2).to(device)

samples = torch.randn(10, 3).to(device)
labels = torch.arange(10).remainder(2).to(device)
loss = nn.functional.cross_entropy(head(encoder(samples).relu()), labels)
print(f"loss {loss.item():.4f}")
