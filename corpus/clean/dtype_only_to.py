"""Conversions of type are no moves."""
import torch
from torch import nn

torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Sequential(nn.Linear(4, 4), nn.Tanh()).to(device)
net.to(torch.float64)
reference = torch.ones(1, dtype=torch.float64)

counts = torch.randint(0, 9, (10, 4))
inputs = counts.to(torch.float64).to(device)
outputs = net(inputs)
halves = outputs.to(torch.float32).to(dtype=torch.bfloat16)
back = counts.to(reference)

print(halves.dtype, back.dtype)
print(f"loss {outputs.pow(2).mean().item():.4f}")
