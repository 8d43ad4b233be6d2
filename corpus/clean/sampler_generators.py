"""Generators of samplers and of random_split live on the host."""
import torch
from torch import nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset, WeightedRandomSampler, random_split

torch.manual_seed(7)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = TensorDataset(torch.randn(60, 4), torch.randint(0, 2, (60,)))
train, held = random_split(data, [48, 12], generator=torch.Generator().manual_seed(1))
weights = torch.rand(48)
sampler = WeightedRandomSampler(weights, num_samples=48, generator=torch.Generator().manual_seed(2))
loaders = [
    DataLoader(train, batch_size=12, sampler=sampler),
    DataLoader(held, batch_size=6, sampler=RandomSampler(held, generator=torch.Generator().manual_seed(3))),
]
model = nn.Linear(4, 2).to(device)

for loader in loaders:
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        loss = nn.functional.cross_entropy(model(x), y)

print(f"loss {loss.item():.4f}")
