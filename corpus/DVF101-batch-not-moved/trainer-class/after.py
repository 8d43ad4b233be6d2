import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, loader, lr=0.05, device=None):
        self.device = device or torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.loader = loader
        self.criterion = nn.SmoothL1Loss(reduction="none")
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=0.9)

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for inputs, targets, weights in self.loader:
            inputs = inputs.to(self.device)
            targets = targets.to(self.device)
            weights = weights.to(self.device)
            predictions = self.model(inputs).squeeze(1)
            per_sample = self.criterion(predictions, targets)
            loss = (per_sample * weights).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)

    def fit(self, epochs):
        for epoch in range(epochs):
            loss = self.train_epoch()
        return loss


def main():
    torch.manual_seed(11)
    x = torch.randn(60, 4)
    y = x @ torch.tensor([1.0, -2.0, 0.5, 0.0])
    w = torch.rand(60)
    loader = DataLoader(TensorDataset(x, y, w), batch_size=20)
    trainer = Trainer(nn.Linear(4, 1), loader)
    print(f"loss {trainer.fit(3):.4f}")


if __name__ == "__main__":
    main()
