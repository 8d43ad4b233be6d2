import torch


class Corpus:
    """Windows of a signal, with masks of what is to be filled in."""

    def __init__(self, length, seed=0):
        self.generator = torch.Generator().manual_seed(seed)
        self.signal = torch.sin(torch.arange(length) / 5)

    def sample(self, count, width):
        starts = torch.randint(0, len(self.signal) - width, (count,), generator=self.generator)
        windows = torch.stack([self.signal[start : start + width] for start in starts])
        mask = torch.rand(windows.shape, generator=self.generator) < 0.15
        return windows, mask

    def batches(self, number, count=8, width=16):
        for _ in range(number):
            windows, mask = self.sample(count, width)
            yield windows.masked_fill(mask, 0.0), windows, mask
