import torch
from torch import nn
from torch.nn import functional as F


class MultiTask(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(features, 16), nn.Tanh())
        self.heads = nn.ModuleDict({
            # one head for each task
            "kind": nn.Linear(16, classes),
            "price": nn.Linear(16, 1),
        })

    def forward(self, x):
        hidden = self.trunk(x)
        return {task: head(hidden) for task, head in self.heads.items()}


def evaluate(model, device):
    model.eval()
    x = torch.randn(10, 6).to(device)
    kinds, prices = torch.randint(0, 4, (10,)).to(device), torch.rand(10, 1).to(device)
    with torch.no_grad():
        found = model(x)
    return F.cross_entropy(found["kind"], kinds) + F.mse_loss(found["price"], prices)


torch.manual_seed(4)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = MultiTask(6, 4)
model.to(device)
print(f"loss {evaluate(model, device).item():.4f}")
