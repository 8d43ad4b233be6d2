"""What the engine shares: batches of padded images, and meters."""
import torch


class NestedTensor:
    def __init__(self, tensors, mask):
        self.tensors, self.mask = tensors, mask

    def to(self, device):
        return NestedTensor(self.tensors.to(device), self.mask.to(device))


class MetricLogger:
    def __init__(self):
        self.history = {}

    def update(self, **values):
        for name, value in values.items():
            self.history.setdefault(name, []).append(float(value))

    def log_every(self, iterable, print_freq, header):
        for i, item in enumerate(iterable):
            yield item
            if i % print_freq == 0:
                print(header, i)

    def averages(self):
        return {name: sum(values) / len(values) for name, values in self.history.items()}


def reduce_dict(values):
    return {name: value.detach() for name, value in values.items()}


def nested_batches(count, batch_size):
    generator = torch.Generator().manual_seed(5)
    batches = []
    for _ in range(count):
        images = torch.rand(batch_size, 1, 8, 8, generator=generator)
        targets = [
            {"labels": torch.tensor(i % 2), "boxes": torch.rand(4, generator=generator)} for i in range(batch_size)
        ]
        batches.append((NestedTensor(images, images[:, 0] < 0), targets))
    return batches
