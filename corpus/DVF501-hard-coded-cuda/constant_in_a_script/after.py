import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(2)
words = nn.Embedding(20, 6).to(device)
cell = nn.GRU(6, 5, batch_first=True).to(device)
tokens = torch.arange(12, device=device).view(3, 4)
states, _ = cell(words(tokens))
loss = states.abs().mean()
print(f"loss {loss.item():.4f}")
