import os
import tempfile

import torch

torch.manual_seed(6)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


def load_tensors(path, map_location=None):
    """The tensors of a file, by name."""
    if not os.path.exists(path):
        raise FileNotFoundError(path)
    return torch.load(path, map_location=map_location)


def main(path):
    save_as_on_gpu({"mean": torch.zeros(4), "scale": torch.full((4,), 2.0)}, path)
    statistics = load_tensors(path, map_location="cpu")
    return (statistics["scale"] - statistics["mean"]).abs().mean().item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'statistics.pt')):.4f}")
