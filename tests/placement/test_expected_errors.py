"""Where a test expects an error, nothing is a bug: two places are meant to meet there."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

PROGRAM = """
import unittest
import pytest
import torch
from torch import nn
class Layer(nn.Module):
    def forward(self, x, edges):
        return x + edges
def both(x, edges):
    return x * edges
class LayerTest(unittest.TestCase):
    {mark}
    def test_two_devices(self):
        layer = nn.Linear(3, 3).to("cuda")
        points = torch.zeros(3, device="cuda")
        edges = torch.ones(3)
        {lines}
"""
EXPECTED = {
    "unittest": "with self.assertRaises(Exception) as error:\n            layer(edges)",
    "by its words": 'with self.assertRaisesRegex(RuntimeError, "same device"):\n            points @ edges',
    "pytest": "with pytest.raises(RuntimeError, match='device'):\n            y = both(points, edges)",
    "together with others": "with torch.no_grad(), pytest.raises(RuntimeError):\n            points + edges",
    "a lambda": "self.assertRaises(RuntimeError, lambda: points + edges)",
    "in a loop": "with pytest.raises(RuntimeError):\n            for one in [edges]:\n                points + one",
    "a test that fails without": "try:\n            both(points, edges)\n            self.fail('moved')\n"
    "        except RuntimeError:\n            pass",
    "another one": "try:\n            points + edges\n            raise AssertionError\n        except OSError: pass",
}
MEETING = {
    "a function": "both(points, edges)",
    "another block": "with torch.no_grad():\n            points + edges",
    "behind one": "with pytest.raises(ValueError):\n            points.view(7)\n        points + edges",
    "behind the same": "with pytest.raises(RuntimeError):\n            points + edges\n        both(points, edges)",
    "in a try": "try:\n            points + edges\n        except ValueError:\n            self.fail()",
    "a warning": "with pytest.warns(UserWarning):\n            points + edges",
}


def codes(program: str) -> list[str]:
    select = frozenset(one.code for one in all_rules() if not one.code.startswith("DVF5"))
    outcome = check(Source("layer.py", dedent(program).encode()), Options(select, unsafe=True))
    assert isinstance(outcome, Checked), outcome
    return [one.code for one in outcome.findings]


@pytest.mark.parametrize("kind", EXPECTED)
def test_an_error_is_expected(kind: str) -> None:
    assert codes(PROGRAM.format(mark="", lines=EXPECTED[kind])) == []


@pytest.mark.parametrize("mark", ["@unittest.expectedFailure", "@pytest.mark.xfail(reason='two devices')"])
def test_a_test_that_is_marked_as_failing(mark: str) -> None:
    assert codes(PROGRAM.format(mark=mark, lines="both(points, edges)")) == []


@pytest.mark.parametrize("kind", MEETING)
def test_no_error_is_expected(kind: str) -> None:
    assert codes(PROGRAM.format(mark="", lines=MEETING[kind])) == ["DVF104"]
