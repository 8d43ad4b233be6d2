import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(8)


def restore(model, optimizer, path):
    if not torch.cuda.is_available():
        checkpoint = torch.load(path, map_location="cpu")
    else:
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(local_rank)
        checkpoint = torch.load(path, map_location=torch.device("cuda", local_rank))
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    return checkpoint["epoch"]


def train(path):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 2}, path)
    inputs, targets = torch.randn(16, 4).to(device), torch.randn(16, 1).to(device)
    for _ in range(restore(model, optimizer, path), 6):
        loss = nn.functional.mse_loss(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {train(os.path.join(folder, 'last.ckpt')):.4f}")
