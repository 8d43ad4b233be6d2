"""Programs as text, and what the analysis says of them."""

from collections.abc import Callable
from textwrap import dedent

import pytest
from devfix_codemods.flow.facts import Facts
from devfix_codemods.flow.interpreter import interpret
from devfix_codemods.flow.names import Names
from devfix_codemods.source import Source


def _facts(program: str) -> Facts:
    source = Source("train.py", dedent(program).encode())
    return interpret(source, Names(source.tree))


@pytest.fixture
def facts() -> Callable[[str], Facts]:
    return _facts
