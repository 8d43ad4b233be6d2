"""The shapes of `bench/metamorphic.py` mean what the program means, and what depends on them is counted."""

import ast
import contextlib
import io
from types import SimpleNamespace

import metamorphic
import pytest
from reshaping import RESHAPINGS, reshaped

PROGRAM = '''"""A program that has all that shapes change."""
import torch


def load(count, start=0):
    """Pairs."""
    return [(one, one + start) for one in range(count)]


def kinds(xs):
    for x in xs:
        if x % 2:
            yield x


class Sum:
    def __init__(self, device):
        self.total = torch.zeros(len(device))
        self.device = device

    def add(self, pairs, limit=None):
        seen = 0
        for a, b in pairs:
            if limit is not None:
                if a > limit:
                    break
                seen += 1
            else:
                seen = seen + 2
            self.total = torch.add(torch.mul(a, b), self.total).reshape(1).sum()
            if b == 3:
                continue
            kind = "even" if b % 2 == 0 else "odd"
            if kind == "odd":
                seen += 5
        squares = [y * y for y in range(seen) if y % 2]
        if squares:
            self.last = squares[-1]
        return seen, squares


if len("cuda") > 3:
    place = "long"
else:
    place = "short"


def main():
    sums = Sum(str("cuda:0"))
    first = sums.add(load(4, 1))
    second = sums.add(load(5), limit=3)
    total = [lambda x: x + 1 for _ in range(2)][0](sum(kinds(range(6))))
    return first, second, total, float(sums.total), sums.last, place, sorted(vars(sums))
'''


class Number(float):
    """What a tensor of one element can do, here."""

    def reshape(self, *shape: int) -> "Number":
        return self

    def sum(self) -> "Number":
        return self


TORCH = SimpleNamespace(zeros=lambda *shape: Number(0), add=lambda a, b: Number(a + b), mul=lambda a, b: Number(a * b))


def result(text: str) -> object:
    """What the program computes, with a torch of numbers."""
    code = compile(
        text.replace("import torch\n", "").replace("import torch as ", "").replace("from torch import ", "\n#"),
        "a",
        "exec",
    )
    names: dict[str, object] = {"torch": TORCH, "zq_torch": TORCH}
    names |= {f"zq_{name}": value for name, value in vars(TORCH).items()}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(code, names)
        return names["main"]()  # type: ignore[operator]


@pytest.mark.parametrize("shape", RESHAPINGS)
def test_a_shape_computes_the_same(shape: str) -> None:
    assert result(reshaped(PROGRAM, RESHAPINGS[shape])) == result(PROGRAM)


@pytest.mark.parametrize("shape", RESHAPINGS)
def test_a_shape_is_another_text(shape: str) -> None:
    assert reshaped(PROGRAM, RESHAPINGS[shape]) != reshaped(PROGRAM)


@pytest.mark.parametrize("shape", RESHAPINGS)
def test_what_has_nothing_to_change_stays(shape: str) -> None:
    assert reshaped("import math\nprint(math.pi)", RESHAPINGS[shape]) == "import math\nprint(math.pi)"


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        ("arguments named", "def f(xs):\n    return g(*h(xs))"),
        ("chains named", "class A(B):\n    def f(self):\n        super().f()"),
        ("arguments named", "async def f(x):\n    g(h(await x))"),
        ("names annotated", "def f():\n    global x\n    x = 1"),
        ("loops by next", "for x in xs:\n    f(x)\nelse:\n    g()"),
        ("comprehensions as loops", "def f(y):\n    x = [y for y in y]\n    return (x, y)"),
        ("torch aliased", "import torch\ntorch = torch.jit"),
        ("self renamed", "class A(B):\n    def f(self):\n        return super().f()"),
        ("locals renamed", "def f():\n    x = 1\n    return locals()"),
        ("locals renamed", "def f():\n    x = 1\n\n    def g(x):\n        return x\n    return g(x)"),
        ("arguments by keyword", "def f(*xs):\n    return xs\nf(1)"),
    ],
)
def test_what_a_shape_cannot_keep_stays(shape: str, text: str) -> None:
    assert reshaped(text, RESHAPINGS[shape]) == ast.unparse(ast.parse(text))


BUG = """
import torch

def train(loader, model, device):
    model.to(device)
    for x, y in loader:
        loss = model(x.to(device)) - y
        loss.backward()
"""


def test_a_finding_is_found_in_each_shape() -> None:
    done = list(metamorphic.differences("a/b", "a.py", BUG, list(RESHAPINGS)))
    assert [one.shape for one in done if one.lost or one.gained or one.without_fix] == []
    assert {one.findings for one in done} == {1}
    assert "| all |" in metamorphic.table(done)


def test_what_a_shape_loses_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RESHAPINGS, "names printed", lambda tree: tree.body.clear())
    (one,) = metamorphic.differences("a/b", "a.py", BUG, ["names printed"])
    assert one.lost == one.without_fix == [("DVF101", ".train")]
    assert metamorphic.table([one]).splitlines()[-1] == "| all | 1 | 1 | 1 (100.0 %) | 0 | 1 | 1 (100.0 %) |"


def test_a_file_without_findings_has_no_shapes() -> None:
    assert list(metamorphic.differences("a/b", "a.py", BUG.replace("- y", "- y.to(device)"), list(RESHAPINGS))) == []
