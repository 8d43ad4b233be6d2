import io

import torch as th
from torch import nn

th.manual_seed(6)


def copy_of(features):
    """The same tensor, through a file in memory."""
    buffer = io.BytesIO()
    th.save(features, buffer)
    buffer.seek(0)
    if features.is_cuda:
        return th.load(buffer, th.device("cuda", th.cuda.current_device()))
    return th.load(buffer, "cpu")


def main():
    device = th.device("cuda" if th.cuda.is_available() else "cpu")
    features = th.randn(8, 3, device=device)
    restored = copy_of(features)
    layer = nn.Linear(3, 3).to(device)
    return nn.functional.mse_loss(layer(features), restored)


if __name__ == "__main__":
    print(f"loss {main().item():.4f}")
