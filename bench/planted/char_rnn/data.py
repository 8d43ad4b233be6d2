import torch

TEXT = "the quick brown fox jumps over the lazy dog. " * 40
VOCABULARY = sorted(set(TEXT))


def encode(text):
    index = {character: number for number, character in enumerate(VOCABULARY)}
    return torch.tensor([index[character] for character in text])


def batches(length, size):
    data = encode(TEXT)
    for _ in range(4):
        starts = torch.randint(0, len(data) - length - 1, (size,))
        inputs = torch.stack([data[start : start + length] for start in starts])
        targets = torch.stack([data[start + 1 : start + length + 1] for start in starts])
        yield inputs, targets
