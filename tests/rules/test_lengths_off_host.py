"""DVF402: lengths that `pack_padded_sequence` reads on the host."""

import pytest

CODE = "DVF402"

HEAD = """
import torch
from torch.nn.utils.rnn import pack_padded_sequence


"""

SILENT = {
    "a list of lengths": """
def run(rnn, frames, lengths: list[int]):
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "sizes in a list": """
def run(rnn, frames, items):
    lengths = [one.size(0) for one in items]
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "who knows what": """
def run(rnn, frames, lengths):
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "an optional tensor or a list": """
def run(rnn, frames, lengths: torch.Tensor | list[int]):
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "brought to the host": """
def run(rnn, frames, lengths: torch.Tensor):
    lengths = lengths.cpu()
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "brought to the host and on": """
def run(rnn, frames, mask: torch.Tensor):
    lengths = mask.sum(1).to("cpu", torch.int64).clamp(min=1)
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "as numbers": """
def run(rnn, frames, lengths: torch.Tensor):
    return rnn(pack_padded_sequence(frames, lengths.tolist()))
""",
    "made on the host": """
def run(rnn, frames, items):
    lengths = torch.tensor([len(one) for one in items])
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "sorted by Python": """
def run(rnn, frames, lengths):
    lengths = sorted(lengths, reverse=True)
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "a branch that asks": """
def run(rnn, frames, lengths: torch.Tensor):
    if not lengths.is_cuda:
        return rnn(pack_padded_sequence(frames, lengths))
""",
    "from a loader": """
def run(rnn, loader, device):
    for frames, lengths in loader:
        rnn(pack_padded_sequence(frames.to(device), lengths))
""",
    "an entry of which nothing is known": """
def run(rnn, sample):
    return rnn(pack_padded_sequence(sample["frames"], sample["lengths"]))
""",
    "an entry of a mapping of lists": """
def run(rnn, frames, sizes: dict[str, list[int]]):
    return rnn(pack_padded_sequence(frames, sizes["frames"]))
""",
    "entries that were brought to the host": """
def run(rnn, frames, sizes):
    sizes = {name: one.cpu() for name, one in sizes.items()}
    return rnn(pack_padded_sequence(frames, sizes["frames"]))
""",
    "an attribute of which nothing is known": """
def run(rnn, sample):
    return rnn(pack_padded_sequence(sample.frames, sample.lengths))
""",
    "an attribute that is moved to the host": """
def run(rnn, sample):
    return rnn(pack_padded_sequence(sample.frames, sample.lengths.to("cpu")))
""",
    "another entry is a tensor": """
def run(rnn, sample):
    frames = sample["frames"].unsqueeze(0)
    return rnn(pack_padded_sequence(frames, sample["lengths"]))
""",
    "arithmetic with numbers": """
def run(rnn, frames, seconds, rate):
    return rnn(pack_padded_sequence(frames, seconds * rate))
""",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_to_say(rule, program):
    assert rule.findings(HEAD + program) == ()


REPAIRED = {
    "a parameter that is a tensor": """
def run(rnn, frames, lengths: torch.Tensor):
    return rnn(pack_padded_sequence(frames, lengths, batch_first=True))
""",
    "by keyword": """
def run(rnn, frames, lengths: torch.Tensor):
    return rnn(pack_padded_sequence(frames, lengths=lengths))
""",
    "computed": """
def run(rnn, frames, given):
    lengths = torch.clamp(given["lengths"], min=1)
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "sorted as a tensor": """
def run(rnn, frames, lengths):
    lengths, order = lengths.sort(0, descending=True)
    return rnn(pack_padded_sequence(frames[order], lengths))
""",
    "made on the device": """
def run(rnn, frames, items, device):
    lengths = torch.tensor([len(one) for one in items], device=device)
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "moved to the device": """
def run(rnn, frames, items, device):
    lengths = torch.LongTensor([len(one) for one in items]).to(device)
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "moved as it comes from the loader": """
def run(rnn, loader, device):
    for frames, lengths in loader:
        frames, lengths = frames.to(device), lengths.to(device)
        rnn(pack_padded_sequence(frames, lengths))
""",
    "moved with its batch": """
def run(rnn, loader, device):
    for batch in loader:
        frames, lengths = [one.to(device) for one in batch]
        rnn(pack_padded_sequence(frames, lengths))
""",
    "compared and counted": """
def run(rnn, frames, tokens):
    lengths = (tokens != 0).sum(dim=1)
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "where there are none": """
def run(rnn, frames, lengths: torch.Tensor):
    lengths = lengths.where(lengths > 0, torch.ones_like(lengths))
    return rnn(pack_padded_sequence(frames, lengths))
""",
    "an optional tensor": """
def run(rnn, frames, lengths: torch.Tensor | None = None):
    if lengths is None:
        return rnn(frames)
    return rnn(pack_padded_sequence(frames, lengths))
""",
}


@pytest.mark.parametrize("program", REPAIRED.values(), ids=REPAIRED)
def test_copied_to_the_host(rule, program):
    assert "lengths.cpu()" in rule.fixed(HEAD + program, unsafe=True)


ENTRIES = {
    'sample["lengths"].cpu()': """
def run(rnn, sample: dict[str, torch.Tensor]):
    return rnn(pack_padded_sequence(sample["frames"], sample["lengths"]))
""",
    "known.cpu()": """
def run(rnn, sample: dict[str, torch.Tensor]):
    known = sample["lengths"]
    return rnn(pack_padded_sequence(sample["frames"], known))
""",
    'moved["lengths"].cpu()': """
def run(rnn, sample, device):
    moved = {name: one.to(device) for name, one in sample.items()}
    return rnn(pack_padded_sequence(moved["frames"], moved["lengths"]))
""",
    "sample.steps.cpu()": """
def run(rnn, sample, device):
    ends = sample.steps.to(device) - 1
    return rnn(pack_padded_sequence(sample.frames, sample.steps)), ends
""",
    "(steps // 2).cpu()": """
def run(rnn, frames, steps: torch.Tensor):
    return rnn(pack_padded_sequence(frames, steps // 2))
""",
}


@pytest.mark.parametrize(("repaired", "program"), ENTRIES.items(), ids=ENTRIES)
def test_entries_and_attributes(rule, repaired, program):
    assert repaired in rule.fixed(HEAD + program, unsafe=True)
