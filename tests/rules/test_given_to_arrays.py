"""DVF104: what a library of arrays reads as it is was on the host, and so was all that filled it."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

SCORES = """
import numpy as np
import pandas as pd
import torch
def scores(model, data):
    predicted = torch.argmax(model.probabilities(data), dim=1)
    total = torch.zeros(3)
    for item in range(3):
        hits = (predicted[:, item] == data[:, item]).sum()
        total[item] += hits * (hits / len(data)).sqrt()
    {read}
"""


@pytest.mark.parametrize(
    "read",
    [
        "return pd.DataFrame({'total': total})",
        "frame = pd.DataFrame(data={'total': [total]})\n    return frame",
        "return np.stack([total, total])",
        "total += 1\n    return pd.Series(total)",
    ],
)
def test_what_is_read_as_it_is(rule, read: str) -> None:
    assert rule.safeties(SCORES.format(read=read)) == []


PAINTED = """
import torch
def painted(labels, colors):
    labels = labels.unsqueeze(0)
    picture = torch.zeros(3, labels.size(1), labels.size(2)).byte()
    for number, color in enumerate(colors):
        mask = labels.eq(number)
        for channel in range(3):
            picture[channel].masked_fill_(mask, color[channel])
    rows = picture{read}
    return rows
"""


def test_parts_are_filled_of_what_numpy_reads(rule) -> None:
    assert rule.findings(PAINTED.format(read=".numpy()")) == ()


@pytest.mark.parametrize("read", [".cpu().numpy()", ""])
def test_parts_are_filled_of_what_is_copied_or_not_read(rule, read: str) -> None:
    assert "device=labels.device" in rule.fixed(PAINTED.format(read=read), unsafe=True)


def test_numpy_reads_it_on_one_path(rule) -> None:
    assert rule.findings(PAINTED.format(read=".numpy() if colors else None")) == ()


def test_numpy_reads_what_was_added_to_another(rule) -> None:
    program = "import torch\ndef f(x: torch.Tensor):\n    y = torch.zeros(3)\n    print(x.view(3) + y)\n    y{}\n"
    assert rule.findings(program.format(".numpy()")) == ()
    assert rule.safeties(program.format("")) != []
