import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class SmallCNN(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16, num_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(dim=(2, 3)))


torch.manual_seed(1)
device = "cuda" if torch.cuda.is_available() else "cpu"

data = TensorDataset(torch.randn(80, 1, 16, 16), torch.randint(0, 4, (80,)))
train_set, val_set = random_split(data, [64, 16])
train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
val_loader = DataLoader(val_set, batch_size=16)

net = SmallCNN().to(device)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

for epoch in range(2):
    net.train()
    for images, labels in train_loader:
        images, labels = images.to(device), labels.to(device)
        loss = F.cross_entropy(net(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    net.eval()
    val_loss, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in val_loader:
            images = images.to(device)
            labels = labels.to(device)
            outputs = net(images)
            val_loss += F.cross_entropy(outputs, labels, reduction="sum").item()
            correct += (outputs.argmax(dim=1) == labels).sum().item()
    print(f"epoch {epoch}: accuracy {correct / len(val_set):.2f}")

print(f"loss {val_loss / len(val_set):.4f}")
