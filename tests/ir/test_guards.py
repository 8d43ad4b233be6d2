"""Path conditions: which two places of a program can be reached under the same ones."""

import pytest
from devfix_codemods.ir.nodes import ALWAYS, contradictory

EXCLUSIVE = {
    "the branches of a test": "if c: probe(1)\nelse: probe(2)",
    "a test and its negation": "if c: probe(1)\nif not c: probe(2)",
    "a test twice negated": "if not c: probe(1)\nif not (not c): probe(2)",
    "one part of and": "if a and b: probe(1)\nif not b: probe(2)",
    "both of and, or not": "if a and b: probe(1)\nelse: probe(2)",
    "neither of or": "if not (a or b): probe(1)\nif a: probe(2)",
    "behind a return": "def f(c):\n    if c: return\n    probe(1)\n    if c: probe(2)",
    "behind a raise": "def f(c):\n    if not c: raise E\n    probe(1)\n    if not c: probe(2)",
    "behind continue": "for i in r:\n    if c: continue\n    probe(1)\n    if c: probe(2)",
    "behind two returns": "def f(c, d):\n    if c: return\n    if d: return\n    probe(1)\n    if d: probe(2)",
    "behind an assertion": "def f(c):\n    assert c\n    probe(1)\n    if not c: probe(2)",
    "a chain of tests": "if c: probe(1)\nelif d: probe(2)",
    "nested": "if c:\n    if d: probe(1)\nif not c: probe(2)",
    "a choice": "probe(1) if c else probe(2)",
    "and": "c and probe(1)\nif not c: probe(2)",
    "or": "c or probe(1)\nif c: probe(2)",
    "the condition of a comprehension": "[probe(1) for x in q if c]\nif not c: probe(2)",
    "the body of while": "def f(c):\n    while c:\n        probe(1)\n    if not c: probe(2)",
    "the guard of a case": "match x:\n    case 1 if c:\n        probe(1)\nif not c: probe(2)",
    "a case and the next one": "match x:\n    case 1: probe(1)\n    case _: probe(2)",
    "a case and its comparison": "match x:\n    case 1: probe(1)\nif x != 1: probe(2)",
    "a case, twice": "match x:\n    case 1: probe(1)\nmatch x:\n    case 1: pass\n    case _: probe(2)",
    "a case that is named": "match x:\n    case m.A as y: probe(1)\nif x != m.A: probe(2)",
    "a case that ends": "def f(x):\n    match x:\n        case 1: return\n    probe(1)\n    if x == 1: probe(2)",
    "a case of None": "match x:\n    case None: probe(1)\nif x is not None: probe(2)",
    "a case of True": "match x:\n    case True: probe(1)\nif x is not True: probe(2)",
    "alternatives": "match x:\n    case 1 | 2: probe(1)\nmatch x:\n    case 1 | 2: pass\n    case _: probe(2)",
    "what no alternative is": "match x:\n    case 1 | 2: pass\n    case _: probe(1)\nif x == 2: probe(2)",
    "none": "def f(x):\n    if x is None: probe(1)\n    if x is not None: probe(2)",
    "none, by ==": "def f(x):\n    if x == None: probe(1)\n    if x is not None: probe(2)",
    "none, behind a return": "def f(x):\n    if x is None: return probe(1)\n    probe(2)",
    "isinstance": "if isinstance(x, T): probe(1)\nelse: probe(2)",
    "isinstance, twice": "if isinstance(x, T): probe(1)\nif not isinstance(x, T): probe(2)",
    "hasattr": "if hasattr(x, 'a'): probe(1)\nif not hasattr(x, 'a'): probe(2)",
    "==, !=": "if x == 1: probe(1)\nif x != 1: probe(2)",
    "in, not in": "if x in y: probe(1)\nif x not in y: probe(2)",
    "is, is not": "if x is y: probe(1)\nif x is not y: probe(2)",
    "a walrus": "if (y := f(x)): probe(1)\nelse: probe(2)",
    "a flag": "use = f()\nif use: probe(1)\nif not use: probe(2)",
    "a flag of an object": "def f(o):\n    if o.cuda: probe(1)\n    if not o.cuda: probe(2)",
    "an option": "def f(o):\n    if o['cuda']: probe(1)\n    if not o['cuda']: probe(2)",
    "an attribute in two methods": (
        "class A:\n    def f(self):\n        if self.c: probe(1)\n    def g(self):\n        if not self.c: probe(2)"
    ),
    "a parameter, and the attribute that keeps it": (
        "class A:\n    def __init__(self, c=None):\n        self.c = c\n        if c is None: probe(1)\n"
        "    def f(self):\n        if self.c is not None: probe(2)"
    ),
    "a flag of the module in two functions": (
        "flag = True\ndef f():\n    if flag: probe(1)\ndef g():\n    if not flag: probe(2)"
    ),
    "what a closure reads": "def f(c):\n    if c: probe(1)\n    def g():\n        if not c: probe(2)",
    "asking torch twice": (
        "import torch\nif torch.cuda.is_available(): probe(1)\nif not torch.cuda.is_available(): probe(2)"
    ),
    "asking by a keyword twice": "from m import has\nif has(a=True): probe(1)\nif not has(a=True): probe(2)",
    "by a name": (
        "import torch\nuse = torch.cuda.is_available()\nif use: probe(1)\nif not torch.cuda.is_available(): probe(2)"
    ),
    "by an imported name": (
        "from torch.cuda import is_available\nif is_available(): probe(1)\nif not is_available(): probe(2)"
    ),
    "as True and False": "use = True if c else False\nif use: probe(1)\nif not c: probe(2)",
    "as False and True": "use = False if c else True\nif use: probe(1)\nif c: probe(2)",
    "set in branches": "if c:\n    use = True\nelse:\n    use = False\nif use: probe(1)\nif not c: probe(2)",
}

TOGETHER = {
    "the same test": "if c: probe(1)\nif c: probe(2)",
    "two tests": "if c: probe(1)\nif not d: probe(2)",
    "one of or": "if a or b: probe(1)\nif not a: probe(2)",
    "not both of and, and one of them": "if a and b: x = 1\nelse: probe(1)\nif a: probe(2)",
    "isinstance of two types": "if isinstance(x, T): probe(1)\nif not isinstance(x, U): probe(2)",
    "of two values": "if isinstance(x, T): probe(1)\nif not isinstance(y, T): probe(2)",
    "none of two values": "def f(x, y):\n    if x is None: probe(1)\n    if y is not None: probe(2)",
    "a name that is bound again": "def f(c):\n    if c: probe(1)\n    c = g()\n    if not c: probe(2)",
    "an attribute that is set": "def f(o):\n    if o.c: probe(1)\n    o.c = g()\n    if not o.c: probe(2)",
    "a parameter, and the attribute that it is not alone in": (
        "class A:\n    def __init__(self, c=None):\n        self.c = c\n        if c is None: self.c = probe(1)\n"
        "    def f(self):\n        if self.c is not None: probe(2)"
    ),
    "parameters of two functions": "def f(c):\n    if c: probe(1)\ndef g(c):\n    if not c: probe(2)",
    "objects of two classes": (
        "class A:\n    def f(self):\n        if self.c: probe(1)\n"
        "class B:\n    def f(self):\n        if not self.c: probe(2)"
    ),
    "a branch that rejoins": "def f(c):\n    if c: x = 1\n    probe(1)\n    if c: probe(2)",
    "one return of two": "def f(c, d):\n    if c:\n        if d: return\n    probe(1)\n    if c: probe(2)",
    "an unread function, twice": "def f(x):\n    if g(x): probe(1)\n    if not g(x): probe(2)",
    "chance, twice": "import random\nif random.random() > 1: probe(1)\nif not random.random() > 1: probe(2)",
    "chance of numpy, twice": (
        "import numpy as np\nif np.random.uniform() > 1: probe(1)\nif not np.random.uniform() > 1: probe(2)"
    ),
    "chance of torch, twice": (
        "import torch\ndef f(p):\n    if torch.bernoulli(p): probe(1)\n    if not torch.bernoulli(p): probe(2)"
    ),
    "the clock, twice": "import time\nif time.time() > 1: probe(1)\nif not time.time() > 1: probe(2)",
    "an iterator, twice": "def f(i):\n    if next(i) is None: probe(1)\n    if next(i) is not None: probe(2)",
    "two flags that are set alike": "a = False\nb = False\nif not a: probe(1)\nif b: probe(2)",
    "what is asked of two values": (
        "from m import has\ndef f(a, b):\n    if has(a): probe(1)\n    if not has(b): probe(2)"
    ),
    "what is asked by two keywords": "from m import has\nif has(a=True): probe(1)\nif not has(b=True): probe(2)",
    "what is asked of a list and of its elements": (
        "from m import has\ndef f(a):\n    if has(a): probe(1)\n    if not has(*a): probe(2)"
    ),
    "two constants in two matches": "match x:\n    case 1: probe(1)\nmatch x:\n    case 2: pass\n    case _: probe(2)",
    "a case with a guard, and the next": "match x:\n    case 1 if c: probe(1)\n    case _: probe(2)",
    "a case that is one of two": "match x:\n    case 1 | 2: probe(1)\nif x != 1: probe(2)",
    "a case of a class": "match x:\n    case T(a=1): probe(1)\n    case _: probe(2)",
    "a case of what has changed": (
        "def f(x):\n    match x.a:\n        case 1: probe(1)\n    x.a = g()\n    if x.a != 1: probe(2)"
    ),
    "a name that an earlier case binds": (
        "match x:\n    case [y]: pass\n    case y.A: probe(1)\n    case _: pass\nif x != 1: probe(2)"
    ),
    "two cases": "match x:\n    case 1: probe(1)\nif x: probe(2)",
    "the handler of an error": "try:\n    if c: probe(1)\nexcept E:\n    if c: probe(2)",
    "after a loop": "def f(c):\n    for i in r:\n        if c: break\n    probe(1)\n    if c: probe(2)",
}


@pytest.mark.parametrize("program", EXCLUSIVE.values(), ids=EXCLUSIVE.keys())
def test_never_both(lowered, program: str) -> None:
    one, other = lowered(program).guards
    assert contradictory(one, other)
    assert contradictory(other, one)


@pytest.mark.parametrize("program", TOGETHER.values(), ids=TOGETHER.keys())
def test_perhaps_both(lowered, program: str) -> None:
    one, other = lowered(program).guards
    assert not contradictory(one, other)
    assert not contradictory(other, one)


def test_a_path_without_tests_is_always_taken(lowered) -> None:
    assert lowered("probe(1)\nfor i in r:\n    probe(2)").guards == [ALWAYS, ALWAYS]


def test_a_guard_inside_says_all_that_is_said_outside(lowered) -> None:
    outside, inside = lowered("if a:\n    probe(1)\n    if b and c is None:\n        probe(2)").guards
    assert outside < inside


def test_the_operands_of_a_phi_carry_their_branches(lowered) -> None:
    phi = lowered("if c:\n    x = f()\nelse:\n    x = g()\nprobe(x)").value()
    assert contradictory(*phi.extra)


def test_endless_conditions_are_cut_short(lowered) -> None:
    depth = 40
    lines = [f"{'    ' * at}if c{at}:" for at in range(depth)]
    deep = lowered("\n".join([*lines, f"{'    ' * depth}probe(1)"])).guards[0]
    assert 0 < len(deep) < depth


@pytest.mark.parametrize("leaving", ["sys.exit(1)", "exit()", "os._exit(2)", "raise SystemExit"])
def test_what_never_comes_back_leaves_a_path(lowered, leaving: str) -> None:
    left = lowered(f"import os\nimport sys\nif not a:\n    {leaving}\nprobe(1)")
    assert left.guards == lowered("if a:\n    probe(1)").guards


@pytest.mark.parametrize("call", ["sys.exc_info()", "leave()", "self.exit(1)"])
def test_other_calls_come_back(lowered, call: str) -> None:
    assert lowered(f"import sys\nif not a:\n    {call}\nprobe(1)").guards == [ALWAYS]


FLAGS_OF_MORE = {
    "a part of the test": "def f(c, d, e):\n    if c and (d or e): x = True\n    else: x = False\n",
    "the guard of a case": "def f(c, d):\n    match d:\n        case 1 if c: x = True\n        case _: x = False\n",
}


@pytest.mark.parametrize("setting", FLAGS_OF_MORE.values(), ids=FLAGS_OF_MORE.keys())
def test_a_flag_that_says_more_than_a_test_is_none(lowered, setting: str) -> None:
    first, second = lowered(setting + "    if c: probe(1)\n    if not x: probe(2)").guards
    assert not contradictory(first, second)


def test_what_follows_a_suppressed_error_is_read(lowered) -> None:
    program = "import contextlib as l\ndef f(c):\n    with l.suppress(KeyError): return c[1]\n    probe(c)"
    assert len(lowered(program).probes) == 1
