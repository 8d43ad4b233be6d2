import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
use_cuda = torch.cuda.is_available()

dataset = TensorDataset(torch.randn(64, 1, 12, 12), torch.randint(0, 3, (64,)))
train_loader = DataLoader(dataset, batch_size=32, shuffle=False)

net = nn.Sequential(
    nn.Conv2d(1, 4, kernel_size=3),
    nn.BatchNorm2d(4),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(4 * 10 * 10, 3),
)
if use_cuda:
    net.cuda()

criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.01)


def train(epoch):
    net.train()
    train_loss = 0
    for batch_idx, (data, target) in enumerate(train_loader):
        if use_cuda:
            data = data.cuda()
        optimizer.zero_grad()
        output = net(data)
        loss = criterion(output, target)
        loss.backward()
        optimizer.step()
        train_loss += loss.item()
    return train_loss / (batch_idx + 1)


for epoch in range(2):
    last = train(epoch)
print("loss %.4f" % last)
