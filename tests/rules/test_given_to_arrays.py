"""DVF104: what a library of arrays reads as it is was on the host, and so was all that filled it."""

import pytest

CODE = "DVF104"

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


@pytest.mark.parametrize(
    "read",
    [
        "return pd.DataFrame({'total': total.to('cpu')})",
        "return np.mean(total)",
        "if model.shows:\n        return pd.DataFrame({'total': total})\n    return total",
        "total = total.to('cpu')\n    return pd.DataFrame({'total': total})",
        "return pd.DataFrame({'total': float(total.sum())})",
    ],
)
def test_what_is_brought_to_the_host_or_read_on_some_paths(rule, read: str) -> None:
    assert len(rule.safeties(SCORES.format(read=read))) == 1
