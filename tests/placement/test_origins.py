"""Where values come from."""

import pytest
from devfix_codemods.ir import Op

FOUND = {
    "an item behind a star": ("probe([*a, f()][1])", ["[*a, f()][1]"]),
    "a choice": ("x = f() if a else g()\nprobe(x)", ["f()", "g()"]),
    "a name of the module, read in a function": ("x = f()\ndef use():\n    probe(x)", ["f()"]),
    "what a function gives": ("def make(n):\n    return f(n)\nprobe(make(3))", ["f(n)"]),
    "what callers give": ("def use(x):\n    probe(x)\nuse(f())\nuse(g())", ["f()", "g()"]),
    "what a caller elsewhere gives": ("def use(x):\n    probe(x)", ["x"]),
    "an attribute": (
        "class A:\n    def __init__(self):\n        self.x = f()\n    def use(self):\n        probe(self.x)",
        ["f()"],
    ),
    "an attribute that nothing sets": ("class A:\n    def use(self):\n        probe(self.x)", ["self.x"]),
    "an item of a display": ("x = {'a': f(), 'b': g()}\nprobe(x['b'])", ["g()"]),
    "an item that is not there": ("x = {'a': f()}\nprobe(x['b'])", ["x['b']"]),
    "an item of what a function gives": ("def make():\n    return f(), g()\nprobe(make()[1])", ["g()"]),
    "an element of a comprehension": ("xs = [f(i) for i in r]\nfor x in xs:\n    probe(x)", ["f(i)"]),
    "an element of what is not read": ("probe([x for x in f()][0])", ["[x for x in f()][0]"]),
    "a value that is renamed in a loop": ("x = f()\nfor i in r:\n    x = x\nprobe(x)", ["f()"]),
    "a function that yields": ("def make():\n    yield f()\nprobe(make())", ["make()"]),
}


@pytest.mark.parametrize(("program", "expected"), FOUND.values(), ids=FOUND)
def test_origins(placed, told, program: str, expected: list[str]) -> None:
    analysis = placed(program).analysis
    probe = next(one for one in analysis.module.nodes() if one.op is Op.CALL and one.args[0].extra == "probe")
    found = analysis.births.origins.of(probe.args[1])
    assert sorted(map(told, found)) == sorted(expected)


def test_items_of_choices_do_not_multiply(placed, told) -> None:
    branches = "".join(f"    {'el' if i else ''}if c({i}):\n        x = x[{i}]\n" for i in range(16))
    analysis = placed(f"x = f()\nwhile c():\n{branches}probe(x)").analysis
    probe = next(one for one in analysis.module.nodes() if one.op is Op.CALL and one.args[0].extra == "probe")
    assert "f()" in map(told, analysis.births.origins.of(probe.args[1]))
