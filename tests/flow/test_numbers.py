"""What is a number has no place, and moves nothing that it is computed with."""

import pytest

SUM = """
import torch
def waves(n, generator):
    grid = torch.arange(n, dtype=torch.float32) / n
    total = torch.zeros_like(grid)
    for k in {numbers}:
        height = torch.randn((), generator=generator) / k ** 1.5
        total = total + height * torch.sin(k * grid)
    return total
"""


@pytest.mark.parametrize("numbers", ["range(1, 3)", "reversed(range(3))", "list(range(2))"])
def test_a_range_yields_numbers(facts, numbers: str) -> None:
    found = facts(SUM.format(numbers=numbers))
    assert (found.meetings, found.followings) == ([], [])


def test_what_is_given_may_be_a_tensor(facts) -> None:
    assert facts(SUM.format(numbers="generator")).followings
