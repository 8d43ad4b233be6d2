import copy
import io
import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(3)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(5, 1)

    def forward(self, x):
        return self.layer(x).mean()


def copy_through_memory(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return torch.load(buffer)


def load_by_machine(path):
    if torch.cuda.is_available():
        return torch.load(path)
    return torch.load(path, map_location="cpu")


def load_with_options(path, **options):
    return torch.load(path, **options)


def restore_random_state(path):
    states = torch.load(path)
    torch.set_rng_state(states["rng_state"])


def main(folder):
    model, path = Scorer(), os.path.join(folder, "scorer.pt")
    scheduler = torch.optim.lr_scheduler.StepLR(torch.optim.SGD(model.parameters(), lr=0.1), 3)
    torch.save(model.state_dict(), path)
    model.load_state_dict(load_by_machine(path))
    model.load_state_dict(torch.load(path, "cpu"))
    model.load_state_dict(load_with_options(path, map_location=lambda storage, place: storage))
    torch.save(scheduler.state_dict(), path + ".scheduler")
    scheduler.load_state_dict(torch.load(path + ".scheduler"))
    torch.save({"rng_state": torch.get_rng_state()}, path + ".rng")
    restore_random_state(path + ".rng")
    again = copy_through_memory(copy.deepcopy(model.state_dict()))
    return model(torch.randn(8, 5)).item() + again["layer.bias"].item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(folder):.4f}")
