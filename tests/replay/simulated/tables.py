"""Tables of expressions, all of a table evaluated in one simulated process."""

from textwrap import dedent, indent
from typing import Any

from .conftest import Simulate

_EVALUATE = """
import warnings
warnings.simplefilter("error")

def evaluated(expression):
    try:
        return repr(eval(expression))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
"""


def evaluate(simulate: Simulate, setting: str, expressions: list[str], devices: int = 1) -> dict[str, str]:
    """The `repr` of each expression after the statements of `setting`, or "Type: first line" of what it raised."""
    code = f"{_EVALUATE}\n{dedent(setting)}\nfor expression in {expressions!r}:\n"
    result = simulate(code + indent("keep(expression, evaluated(expression))\n", "    "), devices)
    assert (result.message, result.not_simulated) == ("", []), result.printed
    return result.values


def assert_values(simulate: Simulate, setting: str, expected: dict[str, Any], devices: int = 1) -> None:
    """Assert that each expression has its value and that nothing on the way warns or is not simulated."""
    found = evaluate(simulate, setting, list(expected), devices)
    differing = {
        expression: found[expression] for expression, value in expected.items() if found[expression] != repr(value)
    }
    assert differing == {}, differing


def assert_errors(simulate: Simulate, setting: str, expected: dict[str, str], devices: int = 1) -> None:
    """Assert that each expression raises what is expected, as "Type: first line" from its beginning."""
    found = evaluate(simulate, setting, list(expected), devices)
    differing = {expression: text for expression, text in found.items() if not text.startswith(expected[expression])}
    assert differing == {}, differing
