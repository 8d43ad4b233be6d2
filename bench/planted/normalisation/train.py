import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


def get_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


class Normalize:
    """Images are normalised on the device, where that is fast."""

    def __init__(self, mean, std, device):
        self.mean = torch.tensor(mean, device=device).view(1, 3, 1, 1)
        self.std = torch.tensor(std, device=device).view(1, 3, 1, 1)

    def __call__(self, images):
        return (images - self.mean) / self.std


def mixup(images, labels, alpha=0.4):
    weight = torch.distributions.Beta(alpha, alpha).sample((images.size(0),)).to(images.device)
    order = torch.randperm(images.size(0), device=images.device)
    mixed = weight.view(-1, 1, 1, 1) * images + (1 - weight).view(-1, 1, 1, 1) * images[order]
    return mixed, labels, labels[order], weight


def main():
    torch.manual_seed(0)
    device = get_device()
    normalize = Normalize(MEAN, STD, device)
    data = TensorDataset(torch.rand(48, 3, 8, 8), torch.randint(0, 5, (48,)))
    loader = DataLoader(data, batch_size=16, shuffle=True)
    model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 5)).to(device)
    criterion = nn.CrossEntropyLoss(reduction="none")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for epoch in range(2):
        for images, labels in loader:
            images = images.to(device, non_blocking=True)
            labels = labels.to(device, non_blocking=True)
            images, first, second, weight = mixup(normalize(images), labels)
            output = model(images)
            loss = (weight * criterion(output, first) + (1 - weight) * criterion(output, second)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{epoch}: {loss.item():.3f}")


if __name__ == "__main__":
    main()
