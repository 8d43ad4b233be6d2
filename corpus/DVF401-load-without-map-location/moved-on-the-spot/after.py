import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(5)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


def fit(path, targets, device):
    features = torch.load(path, map_location=device).to(device)
    targets = targets.to(device)
    model = nn.Linear(7, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(10):
        loss = nn.functional.mse_loss(model(features), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main(path):
    save_as_on_gpu(torch.randn(30, 7), path)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return fit(path, torch.randn(30, 1), device)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'features.pt')):.4f}")
