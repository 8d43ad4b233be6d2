"""DVF104, DVF105: what a file keeps for all calls is not bound to the device of the first one."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

CACHE = """
import torch
_LEVELS = None
_KNOWN = {{}}
def levels(x: torch.Tensor):
    global _LEVELS
    {made}
    return torch.bucketize(x, {used})
"""


@pytest.mark.parametrize(
    ("made", "used", "moved"),
    [
        ("if _LEVELS is None:\n        _LEVELS = torch.tensor([0.5, 1.5, 2.5])", "_LEVELS", "_LEVELS.to(x.device)"),
        (
            "if _LEVELS is None:\n        _LEVELS = torch.arange(3), torch.ones(3)\n    first, second = _LEVELS",
            "first",
            "first.to(x.device)",
        ),
    ],
)
def test_a_global_is_moved_where_it_is_used(rule, made: str, used: str, moved: str) -> None:
    program = CACHE.format(made=made, used=used)
    outcome = rule.fixed(program, unsafe=True) if any(one.fix for one in rule.findings(program)) else None
    assert outcome in {None, CACHE.format(made=made, used=moved)}


def test_an_entry_of_a_global_table(rule) -> None:
    made = "if 3 not in _KNOWN:\n        _KNOWN[3] = torch.tensor([0.5, 1.5, 2.5])"
    assert all("device=" not in repr(one.fix) for one in rule.findings(CACHE.format(made=made, used="_KNOWN[3]")))


def test_a_name_of_the_function_is_made_where_it_belongs(rule) -> None:
    made = "levels = torch.tensor([0.5, 1.5, 2.5])"
    assert "torch.tensor([0.5, 1.5, 2.5], device=x.device)" in rule.fixed(
        CACHE.format(made=made, used="levels"), unsafe=True
    )
