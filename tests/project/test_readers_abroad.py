"""Functions of other files that read on the host what they get, or declare it as what has no place."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from .conftest import InMemory

PROGRAM = """
    import torch
    from metrics import distance
    from torch.utils.data import DataLoader
    def validate(net, data):
        for images, labels, spacing in DataLoader(data):
            images, labels = images.cuda(), labels.cuda()
            print(distance(net(images), labels, spacing[0]))
"""
METRICS = """
    import numpy as np
    import torch
    def distance(found, labels, spacing{annotation}):
        {first}
        return measure(found, labels, spacing)
"""


def found(annotation: str, first: str) -> list[str]:
    metrics = dedent(METRICS).format(annotation=annotation, first=first)
    files = InMemory({"/p/main.py": dedent(PROGRAM), "/p/metrics.py": metrics})
    options = Options(frozenset({"DVF101"}), suggestions=True)
    outcome = check(Source("/p/main.py", dedent(PROGRAM).encode()), options, Project(files))
    assert isinstance(outcome, Checked)
    return [one.message.partition(" stays")[0] for one in outcome.findings]


@pytest.mark.parametrize(
    ("annotation", "first"),
    [
        ("", "spacing = spacing.numpy()"),
        (": np.ndarray", "pass"),
        (": np.ndarray | None = None", "pass"),
        (": list[float]", "pass"),
        (": str", "pass"),
    ],
)
def test_what_is_read_on_the_host(annotation: str, first: str) -> None:
    assert found(annotation, first) == []


@pytest.mark.parametrize(
    ("annotation", "first"),
    [
        ("", "pass"),
        ("", "spacing = spacing.float()"),
        (": torch.Tensor", "pass"),
        (": torch.Tensor | list[float]", "pass"),
        ("", "labels = labels.cpu().numpy()"),
    ],
)
def test_what_is_not(annotation: str, first: str) -> None:
    assert found(annotation, first) == ["`spacing[0]`"]
