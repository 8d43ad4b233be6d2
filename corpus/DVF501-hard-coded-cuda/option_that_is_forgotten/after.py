import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")


def train(model, batches, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for inputs, targets in batches:
        inputs = inputs.to(device)
        targets = targets.to(device, non_blocking=True)
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss


args = parser.parse_args([])
torch.manual_seed(0)
batches = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
network = nn.Linear(3, 1)
network.to(args.device)
print(f"loss {train(network, batches, args.device).item():.4f}")
