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
}


@pytest.mark.parametrize("program", REPAIRED.values(), ids=REPAIRED)
def test_copied_to_the_host(rule, program):
    assert "lengths.cpu()" in rule.fixed(HEAD + program)
