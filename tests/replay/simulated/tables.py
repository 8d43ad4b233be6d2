"""Tables of expressions, all of a table evaluated in one simulated process.

Warnings are errors there. A setting that expects some of torch's says so: `warnings.filterwarnings("ignore", …)`.
"""

from textwrap import dedent, indent
from typing import Any

from .conftest import Simulate

PRELUDE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
h, c = torch.ones(3), torch.ones(3, device="cuda")
"""
"""What most settings begin with: `c` is a device tensor, `h` the same on the host."""

_EVALUATE = """
import warnings
warnings.simplefilter("error")

def evaluated(expression, shown):
    try:
        return shown(eval(expression))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
"""


def assert_values(simulate: Simulate, setting: str, expected: dict[str, Any], devices: int = 1) -> None:
    """Assert that each expression has its value and that nothing on the way is not simulated."""
    found = _evaluate(simulate, setting, list(expected), "repr", devices)
    _assert_equal(found, {expression: repr(value) for expression, value in expected.items()})


def assert_texts(simulate: Simulate, setting: str, expected: dict[str, str], devices: int = 1) -> None:
    """Assert what `str` says of each expression's value, or of its error as "Type: first line of the message"."""
    _assert_equal(_evaluate(simulate, setting, list(expected), "str", devices), expected)


def assert_errors(simulate: Simulate, setting: str, expected: dict[str, str], devices: int = 1) -> None:
    """Assert that each expression raises what is expected, as "Type: first line" from its beginning."""
    found = _evaluate(simulate, setting, list(expected), "repr", devices)
    _assert_equal({expression: text[: len(expected[expression])] for expression, text in found.items()}, expected)


def _evaluate(simulate: Simulate, setting: str, expressions: list[str], shown: str, devices: int) -> dict[str, str]:
    """What `shown` says of each expression after the statements of `setting`, or of the error that it raised."""
    code = f"{_EVALUATE}\n{dedent(setting)}\nfor expression in {expressions!r}:\n"
    result = simulate(code + indent(f"keep(expression, evaluated(expression, {shown}))\n", "    "), devices)
    assert (result.message, result.not_simulated) == ("", []), result.printed
    return result.values


def _assert_equal(found: dict[str, str], expected: dict[str, str]) -> None:
    differing = {expression: found[expression] for expression, text in expected.items() if found[expression] != text}
    assert differing == {}, differing
