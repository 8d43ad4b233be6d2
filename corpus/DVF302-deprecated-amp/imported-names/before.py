import torch
import torch.nn as nn
import torch.optim as optim
from torch.cuda.amp import autocast, GradScaler


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveMaxPool2d(2))
        self.fc = nn.Linear(24, 2)

    def forward(self, x):
        return self.fc(self.features(x).flatten(1))


def train(model, data, optimizer, scaler, criterion, device):
    total = 0.0
    for x, y in data:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        with autocast():
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item()
    return total / len(data)


if __name__ == "__main__":
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = [(torch.rand(5, 3, 8, 8), torch.randint(0, 2, (5,))) for _ in range(3)]
    model = Classifier().to(device)
    scaler = GradScaler()
    loss = train(model, data, optim.Adam(model.parameters()), scaler, nn.CrossEntropyLoss(), device)
    print(f"loss {loss:.4f}")
