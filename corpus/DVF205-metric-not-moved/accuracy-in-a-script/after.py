import torch
import torchmetrics
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

data = TensorDataset(torch.randn(40, 6), torch.randint(0, 3, (40,)))
loader = DataLoader(data, batch_size=10)

model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3)).to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accuracy = torchmetrics.Accuracy(task="multiclass", num_classes=3).to(device)

for epoch in range(2):
    accuracy.reset()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        logits = model(x)
        loss = criterion(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        accuracy.update(logits, y)

print(f"loss {loss.item():.4f} accuracy {accuracy.compute().item():.3f}")
