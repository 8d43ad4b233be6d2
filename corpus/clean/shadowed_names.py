"""Names that only look like torch's."""
from contextlib import contextmanager

import torch


class GradScaler:
    """Scales marks, not gradients."""

    def __init__(self, factor=2.0, enabled=True):
        self.factor = factor if enabled else 1.0

    def scale(self, values):
        return [v * self.factor for v in values]


@contextmanager
def autocast(enabled=True, dtype=None):
    yield enabled, dtype


class Tensor:
    def __init__(self, value):
        self.value = value

    def to(self, unit):
        self.value *= {"mm": 1000.0, "m": 1.0}[unit]

    def cuda(self):
        self.value += 1


def autocast_all(values, device):
    with autocast(enabled=False):
        return [v.to(device) for v in values]


length = Tensor(1.5)
length.to("mm")
length.cuda()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
marks = autocast_all([torch.ones(2), torch.zeros(2)], device)
print(GradScaler(enabled=False).scale([1.0, 2.0]), length.value)
print(f"loss {sum(m.sum().item() for m in marks):.4f}")
