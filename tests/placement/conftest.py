"""What the tests of the placement analysis share: conflicts of small programs."""

import ast
from collections.abc import Callable
from textwrap import dedent

import pytest
from devfix_codemods.ir import Node
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cuts import SUGGESTION

HEAD = "import numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"


class Placed:
    """A program, and its conflicts that are strong enough to be told."""

    def __init__(self, program: str) -> None:
        self.analysis = Analysis(ast.parse(HEAD + dedent(program)))
        self.conflicts: list[Conflict] = [
            one for one in self.analysis.conflicts if round(one.confidence, 3) >= SUGGESTION
        ]

    @property
    def births(self) -> list[str]:
        """The values that are misplaced, in the order of the text."""
        ordered = sorted(self.conflicts, key=lambda one: one.birth.node.index)
        return [told(one.birth.node) for one in ordered]

    def of(self, birth: str) -> Conflict:
        """The conflict of a value."""
        (found,) = [one for one in self.conflicts if told(one.birth.node) == birth]
        return found


def told(node: Node) -> str:
    """A value as the program writes it."""
    if isinstance(node.syntax, ast.expr):
        return ast.unparse(node.syntax)
    return str(node.extra)


@pytest.fixture
def placed() -> Callable[[str], Placed]:
    return Placed


@pytest.fixture(name="told")
def _told() -> Callable[[Node], str]:
    return told
