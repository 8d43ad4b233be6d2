"""Whether a fix can work at its place: names, attributes, devices, and what gives several values."""

from textwrap import dedent

import pytest
from devfix_codemods.applicability import inapplicable
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.program import Program
from devfix_codemods.source import Source, Span


def told(program: str, code: str, at: str = "HERE") -> str | None:
    """What speaks against writing `code` in the place of the one expression `at`."""
    source = Source("train.py", ("import torch\n" + dedent(program)).encode())
    (line,) = (number for number, text in enumerate(source.lines, 1) if at in text)
    column = source.lines[line - 1].index(at)
    span = Span(line, column, line, column + len(at))
    return inapplicable(Program(source), Fix("Move it", Safety.SAFE, (ReplaceExpression(span, code),)))


MISSING = "needs `{}`, bound at its place."
DEVICES = {
    "a number": ("def f(x: int):\n    return g(HERE)\n", False),
    "a tensor": ("def f(x: torch.Tensor):\n    return g(HERE)\n", True),
    "a list": ("def f(n):\n    x = [n]\n    return g(HERE)\n", False),
    "counted by": ("def f(x):\n    y = torch.zeros(x)\n    return g(HERE)\n", False),
    "a generator": ("def f(x):\n    y = torch.zeros(3, generator=x)\n    return g(HERE)\n", True),
    "denied": ("def f(x):\n    if isinstance(x, torch.Tensor):\n        return x\n    return g(HERE)\n", False),
    "affirmed": ("def f(x):\n    if not isinstance(x, torch.Tensor):\n        return x\n    return g(HERE)\n", True),
    "asked later": ("def f(x):\n    y = g(HERE)\n    return y if torch.is_tensor(x) else 0\n", False),
    "no scalar": ("import numpy as np\ndef f(x):\n    if not np.isscalar(x):\n        return g(HERE)\n", True),
    "has one": ("def f(x):\n    if hasattr(x, 'device'):\n        return g(HERE)\n", True),
    "has none": ("def f(x):\n    if hasattr(x, 'device'):\n        return x\n    return g(HERE)\n", False),
    "in a branch": ("def f(x):\n    return g(HERE) if isinstance(x, torch.Tensor) else x\n", True),
    "in the other": ("def f(x):\n    return x if isinstance(x, torch.Tensor) else g(HERE)\n", False),
    "asked on this branch": (
        """
        def f(x, pair):
            if not pair:
                assert isinstance(x, tuple)
                x = torch.stack(x)
            else:
                assert isinstance(x, list)
            return g(HERE)
        """,
        False,
    ),
    "asked where it is bound again": (
        """
        def f(x, pair):
            if pair:
                assert isinstance(x, tuple)
                x = torch.stack(x)
            return g(HERE)
        """,
        True,
    ),
    "a sum": ("def f(rows):\n    x = 0.0\n    for one in rows:\n        x += g(HERE)\n", False),
    "a sum of one": ("def f(rows, x):\n    for one in rows:\n        x += g(HERE)\n", True),
    "by a method": (
        "class A:\n    def device(self):\n        return 0\ndef f():\n    x = A()\n    return g(HERE)\n",
        False,
    ),
    "by a property": (
        "class A:\n    @property\n    def device(self):\n        return 0\ndef f():\n    x = A()\n    return g(HERE)\n",
        True,
    ),
}


@pytest.mark.parametrize(("program", "has"), DEVICES.values(), ids=DEVICES)
def test_devices(program: str, has: bool) -> None:
    assert told(program, "x.device") == (None if has else MISSING.format("x.device"))


NAMES = {
    "a parameter": ("def f(x):\n    return HERE\n", True),
    "of another function": ("def g(x):\n    return x\ndef f():\n    return HERE\n", False),
    "a global": ("x = 3\ndef f():\n    return HERE\n", True),
    "of a comprehension": ("def f(y):\n    z = [x for x in y]\n    return HERE\n", False),
}


@pytest.mark.parametrize(("program", "bound"), NAMES.values(), ids=NAMES)
def test_names(program: str, bound: bool) -> None:
    assert told(program, "x + 1") == (None if bound else MISSING.format("x"))


CALLED = "def f():\n    return HERE\ndef g():\n    return f()\n"
LATE = {
    "before": ("x = 3\nf()\n", True),
    "after": ("f()\nx = 3\n", False),
    "after, by way of another": ("if __name__ == '__main__':\n    g()\n    x = 3\n", False),
    "after, and before": ("x = 3\nf()\nx = 4\n", True),
    "in a branch before": ("if f:\n    x = 3\nf()\nx = 4\n", True),
    "after what calls others": ("print(3)\nx = 3\n", True),
    "by a function": ("def h():\n    global x\n    x = 3\nh()\nf()\nx = 4\n", True),
    "after, and in a function": ("def h():\n    x = 3\n    return x\nf()\nx = 4\n", False),
}


@pytest.mark.parametrize(("calls", "bound"), LATE.values(), ids=LATE)
def test_names_that_are_bound_after_a_call(calls: str, bound: bool) -> None:
    found = told(CALLED + calls, "x + 1")
    assert found == (None if bound else "needs `x`, which the file binds only after this runs.")


OWN = {
    "above": ("y = HERE\nx = 3\n", False),
    "below": ("x = 3\ny = HERE\n", True),
    "below a branch": ("if g:\n    x = 3\ny = HERE\nx = 4\n", True),
    "above an import": ("y = HERE\nimport x\n", False),
    "below an import": ("import x\ny = HERE\n", True),
    "in a function": ("def f():\n    return HERE\nx = 3\nf()\n", True),
}


@pytest.mark.parametrize(("program", "bound"), OWN.values(), ids=OWN)
def test_names_that_are_bound_below(program: str, bound: bool) -> None:
    late = "needs `x`, which the file binds only after this runs."
    assert told(program, "x + 1") == (None if bound else late)


KEPT = """
class A:
    def __init__(self, rows):
        {init}
    def build(self, rows):
        self.place = rows
    def run(self):
        return HERE
"""
ATTRIBUTES = {
    "the constructor": (KEPT.format(init="self.place = rows"), True),
    "a method that it calls": (KEPT.format(init="self.build(rows)"), True),
    "another method": (KEPT.format(init="self.rows = rows"), False),
    "nobody is seen to": (KEPT.format(init="self.rows = rows").replace("self.place", "self.rows"), True),
    "too late": (KEPT.format(init="self.first = self.run()\n        self.place = rows"), False),
}


@pytest.mark.parametrize(("program", "is_set"), ATTRIBUTES.values(), ids=ATTRIBUTES)
def test_attributes(program: str, is_set: bool) -> None:
    assert told(program, "self.place + 1") == (None if is_set else MISSING.format("self.place"))


SEVERAL = {
    "unpacked": ("def f(y):\n    a, b = g(y)\n", "g(y)", False),
    "one": ("def f(y):\n    a = g(y)\n", "g(y)", True),
    "rows of a tensor": ("def f(y):\n    a, b = torch.stack(y)\n", "torch.stack(y)", True),
    "a tuple": ("def pair(x):\n    return x, x\ndef f(y):\n    a = pair(y)\n", "pair(y)", False),
    "a tuple or one": ("def pair(x):\n    return (x, x) if x else x\ndef f(y):\n    a = pair(y)\n", "pair(y)", True),
}


@pytest.mark.parametrize(("program", "at", "is_one"), SEVERAL.values(), ids=SEVERAL)
def test_several_values(program: str, at: str, is_one: bool) -> None:
    several = f"moves one value, and `{at}` gives several."
    assert told(program, "__node__.to('cuda')", at) == (None if is_one else several)


NET = """
from torch import nn
class Net(nn.Module):
    def __init__(self, device):
        super().__init__()
        {first}
        self.register_buffer("mask", torch.zeros(3))
        self.device = device
    def reset(self):
        self.mask = self.mask * 2
    def forward(self, x):
        return {then}
"""


def test_a_registered_buffer_is_set() -> None:
    assert told(NET.format(first="", then="x + HERE"), "torch.ones(3, device=self.mask.device)") is None


def test_what_the_constructor_itself_sets_later_is_not() -> None:
    program = NET.format(first="self.scale = HERE", then="x")
    assert told(program, "torch.zeros(3, device=self.device)") == MISSING.format("self.device")


ASKED = "needs `{}.to`, and the code asks whether that is a tensor."
MOVED = {
    "a part that is one of several": (
        "def f(d, n):\n    z = d[n] if n else g()\n    return isinstance(z, int)\n",
        False,
    ),
    "a part": ("def f(d, n):\n    z = d[n]\n    return 0 if isinstance(z, (int, float)) else z\n", False),
    "another part is asked": ("def f(d, n, y):\n    z = d[n]\n    return 0 if isinstance(y, int) else z\n", True),
    "another value of the name": ("def f(d, n):\n    z = d[n]\n    z = g()\n    return isinstance(z, int)\n", True),
}
ASKED_BEFORE = {
    "affirmed": ("def f(z):\n    return g(HERE) if torch.is_tensor(z) else 0\n", True),
    "denied": ("def f(z):\n    return g(HERE) if isinstance(z, int) else 0\n", False),
}


@pytest.mark.parametrize(("program", "moves"), MOVED.values(), ids=MOVED)
def test_a_part_that_may_be_no_tensor_is_not_moved(program: str, moves: bool) -> None:
    assert told(program, "__node__.to('cuda')", "d[n]") == (None if moves else ASKED.format("d[n]"))


@pytest.mark.parametrize(("program", "moves"), ASKED_BEFORE.values(), ids=ASKED_BEFORE)
def test_a_name_that_may_be_no_tensor_is_not_moved(program: str, moves: bool) -> None:
    assert told(program, "z.to('cuda')") == (None if moves else ASKED.format("z"))
