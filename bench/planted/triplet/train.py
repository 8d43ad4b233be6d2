import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Triplets(Dataset):
    def __init__(self, count):
        self.points = torch.randn(count, 10)

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        anchor = self.points[index]
        return anchor, anchor + 0.1, self.points[index - 1]


class Trainer:
    def __init__(self, config):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.Sequential(nn.Linear(10, 20), nn.ReLU(), nn.Linear(20, 6)).to(self.device)
        self.head = nn.Linear(6, 1).to(self.device)
        self.optimizer = torch.optim.Adam([*self.model.parameters(), *self.head.parameters()], lr=config["lr"])
        self.criterion = nn.TripletMarginLoss(margin=0.5)
        self.centre = torch.zeros(6, device=self.device)

    def train_epoch(self, loader):
        running = 0.0
        for anchor, positive, negative in loader:
            anchor, positive, negative = (
                anchor.to(self.device),
                positive.to(self.device),
                negative.to(self.device),
            )
            a, p, n = self.model(anchor), self.model(positive), self.model(negative)
            loss = self.criterion(a, p, n) + F.softplus(self.head(a)).mean()
            loss = loss + 0.01 * (a - self.centre).pow(2).mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.centre = 0.9 * self.centre + 0.1 * a.detach().mean(0)
            running += loss.item()
        return running / len(loader)


def main():
    torch.manual_seed(0)
    trainer = Trainer({"lr": 1e-3})
    loader = DataLoader(Triplets(40), batch_size=10, shuffle=True)
    for epoch in range(2):
        print(f"{epoch}: {trainer.train_epoch(loader):.5f}")


if __name__ == "__main__":
    main()
