"""Functions that can hold no fact are not interpreted; what they could hide is found all the same."""

import ast

import pytest
from devfix_codemods.flow.classes import ClassTable
from devfix_codemods.flow.evidence import gather
from devfix_codemods.flow.interest import Interest
from devfix_codemods.flow.names import Names
from devfix_codemods.program import Program
from devfix_codemods.source import Source


def worth(code: str) -> set[str]:
    """The names of the functions and methods in `code` that are worth running."""
    tree = ast.parse(code)
    names = Names(tree)
    classes = ClassTable(names)
    interest = Interest(tree, names, gather(tree, names), classes)
    found = {one.name for one in tree.body if isinstance(one, ast.FunctionDef) and interest.in_function(one)}
    for owner in names.classes:
        found |= set(interest.methods(classes.methods(owner)))
    return found


DULL = {
    "arithmetic": "def f(x, y):\n    return (x + y).view(-1)\n",
    "the builtin range": "def f(n):\n    return [g(i) for i in range(n)]\n",
    "the builtin type": "def f(x):\n    return type(x)\n",
    "a layer's forward": (
        "import torch.nn as nn\nclass A(nn.Module):\n    def __init__(self):\n        self.l = nn.Linear(2, 2)\n"
        "    def forward(self, x):\n        return self.l(x)\n"
    ),
    "calling something that is dull too": "def g(x):\n    return x * 2\ndef f(x):\n    return g(x)\n",
}


@pytest.mark.parametrize("code", DULL.values(), ids=DULL)
def test_what_makes_and_moves_nothing_is_not_run(code: str) -> None:
    assert worth(code) == set()


def test_a_function_that_makes_or_moves_something_is_run() -> None:
    code = (
        "import torch\ndef f():\n    return torch.zeros(3)\ndef g(x, d):\n    return x.to(d)\ndef h(x):\n    return x\n"
    )
    assert worth(code) == {"f", "g"}


def test_a_caller_of_such_a_function_is_run_however_far_away() -> None:
    code = (
        "import torch\ndef a():\n    return torch.zeros(3)\ndef b():\n    return a()\ndef c(x):\n    return x + b()\n"
    )
    assert worth(code) == {"a", "b", "c"}


def test_something_made_at_module_level_makes_all_functions_worth_running() -> None:
    assert worth("import torch\nMASK = torch.ones(3)\ndef f(x):\n    return x * MASK\n") == {"f"}


def test_the_declared_device_of_a_module_does_not() -> None:
    assert worth("import torch\nd = torch.device('cuda')\ndef f(x):\n    return x * 2\n") == set()


def test_methods_that_read_a_made_attribute_are_run() -> None:
    code = """\
import torch
class A(torch.nn.Module):
    def __init__(self, n):
        self.n = n
        steps = torch.arange(n)
        self.steps = steps
    def forward(self, x):
        return x + self.steps
    def size(self):
        return self.n
"""
    assert worth(code) == {"__init__", "forward"}


def test_building_a_module_outside_of_a_constructor_is_worth_a_run() -> None:
    code = """\
from torch import nn
def build():
    return nn.Linear(2, 2)
class A(nn.Module):
    pass
def make():
    return A()
"""
    assert worth(code) == {"build", "make"}


def test_a_fact_that_goes_through_a_dull_function_is_seen() -> None:
    code = """\
import torch
def add(a, b):
    return a + b
def run(x: torch.Tensor):
    x = x.to("cuda")
    return add(x, torch.ones(3))
"""
    meetings = Program(Source("x.py", code.encode())).facts.meetings
    assert [ast.unparse(one.node) for one in meetings] == ["a + b"]
