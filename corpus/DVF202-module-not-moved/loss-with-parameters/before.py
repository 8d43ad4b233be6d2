import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class CenterLoss(nn.Module):
    def __init__(self, num_classes, feat_dim):
        super().__init__()
        self.centers = nn.Parameter(torch.randn(num_classes, feat_dim))

    def forward(self, features, labels):
        return (features - self.centers[labels]).pow(2).sum(dim=1).mean()


class Embedder(nn.Module):
    def __init__(self, n_in, feat_dim, num_classes):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(n_in, 32), nn.PReLU(), nn.Linear(32, feat_dim))
        self.classifier = nn.Linear(feat_dim, num_classes)

    def forward(self, x):
        z = self.features(x)
        return z, self.classifier(z)


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = DataLoader(TensorDataset(torch.randn(45, 9), torch.randint(0, 3, (45,))), batch_size=15)

model = Embedder(9, 4, 3).to(device)
center_loss = CenterLoss(num_classes=3, feat_dim=4)
optimizer = torch.optim.SGD([*model.parameters(), *center_loss.parameters()], lr=0.02)

for epoch in range(3):
    for x, y in loader:
        x = x.to(device)
        y = y.to(device)
        z, logits = model(x)
        loss = F.cross_entropy(logits, y) + 0.1 * center_loss(z, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
