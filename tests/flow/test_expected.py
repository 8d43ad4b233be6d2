"""Where a test expects an error, nothing is a fact: two places are meant to meet there."""

from collections.abc import Callable

import pytest
from devfix_codemods.flow.facts import Facts

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


@pytest.mark.parametrize("kind", EXPECTED)
def test_an_error_is_expected(facts: Callable[[str], Facts], kind: str) -> None:
    found = facts(PROGRAM.format(mark="", lines=EXPECTED[kind]))
    assert (found.meetings, found.followings) == ([], [])


@pytest.mark.parametrize("mark", ["@unittest.expectedFailure", "@pytest.mark.xfail(reason='two devices')"])
def test_a_test_that_is_marked_as_failing(facts: Callable[[str], Facts], mark: str) -> None:
    assert not facts(PROGRAM.format(mark=mark, lines="both(points, edges)")).meetings


@pytest.mark.parametrize(
    "lines",
    [
        "both(points, edges)",
        "with torch.no_grad():\n            points + edges",
        "with pytest.raises(ValueError):\n            points.view(7)\n        points + edges",
        "with pytest.raises(RuntimeError):\n            both(points, edges)\n        both(points, edges)",
        "try:\n            points + edges\n        except ValueError:\n            self.fail()",
        "with pytest.warns(UserWarning):\n            points + edges",
    ],
)
def test_no_error_is_expected(facts: Callable[[str], Facts], lines: str) -> None:
    assert facts(PROGRAM.format(mark="", lines=lines)).meetings


def test_what_numpy_reads(facts: Callable[[str], Facts]) -> None:
    found = facts("""
        import pytest
        import torch
        def test_reads():
            points = torch.zeros(3, device="cuda")
            with pytest.raises(TypeError):
                points.numpy()
    """)
    assert found.readouts == []
