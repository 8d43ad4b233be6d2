import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(1)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))

    def forward(self, x):
        return self.layers(x)


def evaluate(path, x, y):
    model = Classifier()
    model.load_state_dict(torch.load(path))
    model.eval()
    with torch.no_grad():
        return nn.functional.cross_entropy(model(x), y).item()


def main(path):
    save_as_on_gpu(Classifier().state_dict(), path)
    return evaluate(path, torch.randn(20, 8), torch.randint(0, 3, (20,)))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'classifier.pt')):.4f}")
