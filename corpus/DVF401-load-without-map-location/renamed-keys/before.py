import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(3)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


class Encoder(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        return self.proj(self.norm(x))


def load_weights(model, path):
    weights = torch.load(path)["state_dict"]
    renamed = {}
    for key, value in weights.items():
        renamed[key.removeprefix("module.")] = value
    own = model.state_dict()
    own.update({key: value for key, value in renamed.items() if key in own})
    model.load_state_dict(own)


def main(path):
    wrapped = {f"module.{key}": value for key, value in Encoder().state_dict().items()}
    save_as_on_gpu({"state_dict": wrapped, "epoch": 12}, path)
    model = Encoder()
    load_weights(model, path)
    return model(torch.randn(5, 6)).pow(2).mean().item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'encoder.pth')):.4f}")
