import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(41)

loader = DataLoader(TensorDataset(torch.randn(50, 7), torch.randint(0, 3, (50,))), batch_size=10)
model = nn.Sequential(nn.LayerNorm(7), nn.Linear(7, 3)).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

for epoch in range(3):
    for sample, label in loader:
        label = label.to(device)
        logits = model(sample.to(device))
        loss = F.cross_entropy(logits, label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
