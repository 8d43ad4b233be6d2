import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")

model = nn.Sequential(nn.Linear(6, 12), nn.GELU(), nn.Linear(12, 2)).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

for step in range(3):
    x = torch.randn(10, 6).to(device)
    with torch.autocast(str(device), dtype=torch.bfloat16):
        loss = model(x).float().logsumexp(dim=1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.2f}")
