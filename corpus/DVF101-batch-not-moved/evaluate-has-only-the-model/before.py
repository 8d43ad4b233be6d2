import torch
from torch import nn
from torch.utils.data import DataLoader


class Compressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Linear(8, 2)
        self.up = nn.Linear(2, 8)

    def forward(self, x):
        return self.up(torch.tanh(self.down(x)))


def fit(model, loader, device, epochs=3):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(epochs):
        for rows in loader:
            rows = rows.to(device)
            loss = nn.functional.mse_loss(model(rows), rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@torch.no_grad()
def anomaly_scores(model, loader):
    scores = []
    for rows in loader:
        error = (model(rows) - rows).pow(2).mean(dim=1)
        scores.extend(error.tolist())
    return scores


def main():
    torch.manual_seed(29)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(torch.randn(40, 8), batch_size=10)
    model = Compressor().to(device)
    fit(model, loader, device)
    scores = anomaly_scores(model, loader)
    print(f"loss {sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
