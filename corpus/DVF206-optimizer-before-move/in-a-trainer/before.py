import torch
import torch.nn as nn
from torch.optim import Adam


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 5, batch_first=True)
        self.out = nn.Linear(5, 1)

    def forward(self, x):
        return self.out(self.gru(x)[0][:, -1])


class Trainer:
    def __init__(self, device, resumed=None):
        self.device = device
        self.model = Net()
        self.optimizer = Adam(self.model.parameters(), lr=3e-3)
        if resumed is not None:
            self.model.load_state_dict(resumed["model"])
            self.optimizer.load_state_dict(resumed["optimizer"])
        self.model = self.model.to(self.device)

    def fit(self, batches):
        for batch in batches:
            batch = batch.to(self.device)
            loss = (self.model(batch[:, :-1]) - batch[:, -1:, 0]).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()

    def state(self):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}


def main():
    torch.manual_seed(6)
    batches = [torch.randn(4, 6, 3) for _ in range(3)]
    first = Trainer("cpu")
    first.fit(batches[:1])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"loss {Trainer(device, first.state()).fit(batches):.4f}")


if __name__ == "__main__":
    main()
