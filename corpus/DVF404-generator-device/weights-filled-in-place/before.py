import torch
import torch.nn as nn


def build(width, device):
    rng = torch.Generator()
    rng.manual_seed(21)
    table = torch.empty(10, width, device=device)
    table.normal_(0, 0.1, generator=rng)
    bias = torch.empty(width, device=device).uniform_(-0.1, 0.1, generator=rng)
    return table, bias


device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")
table, bias = build(6, device)
torch.manual_seed(0)
head = nn.Linear(6, 2).to(device)
tokens = torch.tensor([[1, 4], [7, 9]], device=device)
logits = head(nn.functional.embedding(tokens, table).mean(dim=1) + bias)
loss = nn.functional.cross_entropy(logits, torch.tensor([0, 1], device=device))
loss.backward()
print(f"loss {loss.item():.4f}")
