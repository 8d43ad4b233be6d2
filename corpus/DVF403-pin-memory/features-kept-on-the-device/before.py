import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LinearProbe:
    """A classifier over features that are computed once and stay on the device."""

    def __init__(self, encoder, classes, device):
        self.encoder = encoder.to(device).eval()
        self.head = nn.Linear(6, classes).to(device)
        self.device = device

    @torch.no_grad()
    def features(self, images):
        return self.encoder(images.to(self.device))

    def fit(self, images, labels, epochs=2):
        features = self.features(images).to(self.device)
        labels = labels.to(self.device)
        loader = DataLoader(TensorDataset(features, labels), batch_size=5, pin_memory=True, drop_last=True)
        optimizer = torch.optim.SGD(self.head.parameters(), lr=0.1)
        for _ in range(epochs):
            for x, y in loader:
                loss = F.cross_entropy(self.head(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return loss.item()


def main():
    torch.manual_seed(6)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    probe = LinearProbe(nn.Sequential(nn.Flatten(), nn.Linear(8, 6), nn.Tanh()), 3, device)
    images = torch.randn(15, 2, 4)
    print(f"loss {probe.fit(images, torch.arange(15).remainder(3)):.4f}")


if __name__ == "__main__":
    main()
