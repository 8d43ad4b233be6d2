import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(4)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


class Retriever:
    def __init__(self, path, device):
        self.device = torch.device(device)
        self.encoder = nn.Linear(5, 8).to(self.device)
        self.table = torch.load(path)

    def scores(self, queries):
        encoded = self.encoder(queries.to(self.device))
        return encoded @ self.table.T


def main(path):
    save_as_on_gpu(torch.randn(40, 8), path)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    retriever = Retriever(path, device)
    return retriever.scores(torch.randn(3, 5)).mean().item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'table.pt')):.4f}")
