import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(7)


def save_as_on_gpu(state, path):
    """Write a checkpoint as a machine with a GPU does: each storage carries the tag of its device."""
    tag = torch.serialization.location_tag
    torch.serialization.location_tag = lambda storage: "cuda:0"
    torch.save(state, path)
    torch.serialization.location_tag = tag


class Tagger(nn.Module):
    def __init__(self, words, tags, dim=10):
        super().__init__()
        self.embed = nn.Embedding(words, dim)
        self.out = nn.Linear(dim, tags)

    def forward(self, ids):
        return self.out(self.embed(ids))

    @classmethod
    def from_file(cls, path):
        options = torch.load(path, map_location="cpu")["config"]
        model = cls(**options)
        model.load_state_dict(torch.load(path, map_location="cpu")["weights"])
        return model


def main(path):
    options = {"words": 30, "tags": 4}
    save_as_on_gpu({"config": options, "weights": Tagger(**options).state_dict()}, path)
    model = Tagger.from_file(path)
    ids = torch.randint(0, 30, (12,))
    return nn.functional.cross_entropy(model(ids), torch.randint(0, 4, (12,))).item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        print(f"loss {main(os.path.join(folder, 'tagger.pt')):.4f}")
