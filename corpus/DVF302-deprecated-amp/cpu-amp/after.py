import torch
from torch import nn


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(2, 10, batch_first=True)
        self.out = nn.Linear(10, 2)

    def forward(self, x):
        states, _ = self.rnn(x)
        return self.out(states[:, -1])


def evaluate(model, series):
    model.eval()
    with torch.no_grad(), torch.amp.autocast("cpu", dtype=torch.bfloat16):
        prediction = model(series[:, :-1])
    return (prediction.float() - series[:, -1]).abs().mean().item()


def main():
    torch.manual_seed(6)
    steps = torch.arange(12).float()
    series = torch.stack([torch.sin(steps / 3), torch.cos(steps / 3)], dim=-1).repeat(4, 1, 1)
    model = Forecast()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(4):
        with torch.amp.autocast("cpu", enabled=step > 0):
            loss = nn.functional.mse_loss(model(series[:, :-1]), series[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {evaluate(model, series):.2f}")


if __name__ == "__main__":
    main()
