import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class SequenceModel(nn.Module):
    def __init__(self, n_features, n_hidden):
        super().__init__()
        self.lstm = nn.LSTM(n_features, n_hidden, batch_first=True)
        self.head = nn.Linear(n_hidden, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.head(h[-1])


class Trainer:
    def __init__(self, config):
        self.config = config
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = SequenceModel(config["features"], config["hidden"]).to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config["lr"])
        self.criterion = nn.MSELoss()

    def run(self, loader):
        self.model.train()
        for epoch in range(self.config["epochs"]):
            for x, y in loader:
                x = x.to(self.device)
                y = y.to(self.device)
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.manual_seed(3)
    x = torch.randn(32, 6, 3)
    loader = DataLoader(TensorDataset(x, x.mean(dim=(1, 2)).unsqueeze(1)), batch_size=8)
    trainer = Trainer({"features": 3, "hidden": 8, "lr": 1e-2, "epochs": 2})
    print(f"loss {trainer.run(loader):.4f}")
