import torch
import torch.nn.functional as F
from torch import nn


class MultiHeadLoss(nn.Module):
    def forward(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        total = torch.tensor(0.0)
        for head in range(outputs.shape[1]):
            error = F.mse_loss(outputs[:, head], targets[:, head])
            total += error
        return total / outputs.shape[1]


torch.manual_seed(11)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(5, 3).to(device)
criterion = MultiHeadLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(16, 5).to(device), torch.randn(16, 3).to(device)
for _ in range(4):
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
