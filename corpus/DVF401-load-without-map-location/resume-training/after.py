import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(2)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(4, 12)
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x)))


def resume(path, model, optimizer):
    print(f"resume from {os.path.basename(path)}")
    checkpoint = torch.load(path, weights_only=True, map_location="cpu")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"] + 1


def train(model, optimizer, epochs):
    for _ in epochs:
        x = torch.randn(32, 4)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main(path):
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    train(model, optimizer, range(3))
    save_as_on_gpu({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2}, path)
    start = resume(path, model, optimizer)
    return train(model, optimizer, range(start, start + 4))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'last.pt')):.4f}")
