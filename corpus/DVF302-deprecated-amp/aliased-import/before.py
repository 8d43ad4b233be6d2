import torch
import torch.cuda.amp as amp
from torch import nn
from torch.cuda.amp import autocast as mixed_precision

torch.manual_seed(8)
device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')
model = nn.Bilinear(3, 3, 1).to(device)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
scaler = amp.GradScaler()

for step in range(5):
    a, b = torch.randn(2, 14, 3, device=device)
    with mixed_precision(
        enabled=step % 2 == 0,
        dtype=torch.float16,
    ):
        loss = (model(a, b).squeeze(1) - (a * b).sum(dim=1)).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()

print('loss {:.4f}'.format(loss.item()))
