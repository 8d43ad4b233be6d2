import argparse
import time

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


def main(args):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    features = torch.randn(64, 6, device=args.device)
    targets = features.sum(1, keepdim=True)
    durations = []
    for epoch in range(args.epochs):
        started = time.perf_counter()
        loss = nn.functional.mse_loss(model(features), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch > 0:  # the first round warms up
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            durations.append(time.perf_counter() - started)
    print(f"{len(durations)} epochs were timed")
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main(parser.parse_args([]))
