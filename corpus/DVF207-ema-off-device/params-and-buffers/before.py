import copy

import torch
import torch.nn as nn


class ExponentialMovingAverage:
    def __init__(self, model, decay, device):
        self.device = torch.device(device)
        self.decay = decay
        self.model = copy.deepcopy(model).to(self.device)
        for p in self.model.parameters():
            p.requires_grad_(False)

    def step(self, source):
        ours = dict(self.model.named_parameters())
        theirs = dict(source.named_parameters())
        for name, average in ours.items():
            average.mul_(self.decay)
            average.add_(theirs[name].detach(), alpha=1 - self.decay)
        for ours_b, theirs_b in zip(self.model.buffers(), source.buffers()):
            ours_b.copy_(theirs_b)


def main():
    torch.manual_seed(5)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(64, 2))
    model.to(device)
    ema = ExponentialMovingAverage(model, decay=0.9, device="cpu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(3):
        images = torch.rand(5, 1, 6, 6).to(device)
        labels = torch.randint(0, 2, (5,)).to(device)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema.step(model)
    print("running mean", round(ema.model[1].running_mean.sum().item(), 4))
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
