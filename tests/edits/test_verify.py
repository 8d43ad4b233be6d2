import pytest
from devfix_codemods.edits.verify import problems
from devfix_codemods.source import Source


def _problems(before: str, after: str) -> list[str]:
    return problems(Source("a.py", before.encode()), Source("a.py", after.encode()))


SOUND = {
    "the same": ("x = y\n", "x = y\n"),
    "a name that was unbound before": ("x = y\n", "x = y.z\n"),
    "a builtin": ("", "print(len(__name__), __file__)\n"),
    "bound by an import": ("", "import a.b\na\n"),
    "bound by a from-import": ("", "from a import b as c\nc\n"),
    "bound by a star": ("from a import *\n", "from a import *\nx = unknown\n"),
    "bound by a definition": ("", "def f(): return C\nclass C: pass\nf()\n"),
    "bound by a loop": ("", "for i, (j, *k) in y if (y := 1) else 2: i, j, k\n"),
    "bound by with and except": ("", "try:\n    with open(1) as f: f\nexcept OSError as e: e\n"),
    "bound by a match": ("x = 1\n", "x = 1\nmatch x:\n    case {'a': b, **c}: b, c\n"),
    "bound by a global statement": ("", "def f():\n    global g\n    g = 1\ng\n"),
    "bound by an import in a function": ("", "def f():\n    global g\n    import g\ng\n"),
    "a parameter": ("", "def f(a, *b, c=1, **d): return a, b, c, d, (lambda e: e)\n"),
    "a closure": ("", "def f():\n    a = 1\n    def g(): return a\n    return g\n"),
    "a comprehension": ("", "[a for b in [] for a in b]\n"),
    "a name of the class": ("", "class C:\n    a = 1\n    b = a\n"),
    "super": ("", "class C:\n    def f(self): return super().f, __class__\n"),
    "bound in an earlier turn of a loop": ("", "def f():\n    for i in []:\n        if i: print(a)\n        a = i\n"),
    "bound on one branch": ("", "def f(b):\n    if b: a = 1\n    return a\n    a = 2\n"),
    "bound above in a comprehension": ("", "def f(b):\n    print([a for a in b])\n    a = 1\n"),
    "read by a function that is called later": ("", "def f():\n    g = lambda: a\n    a = 1\n    return g()\n"),
    "a parameter that is bound again": ("", "def f(a):\n    print(a)\n    a = 1\n"),
    "read above a global statement's own": ("a = 1\n", "a = 1\ndef f():\n    global a\n    print(a)\n    a = 2\n"),
    "read too early before": ("def f():\n    print(a)\n    a = 1\n", "def f():\n    print(a, 1)\n    a = 1\n"),
    "what the compiler refused before": ("return 1\n", "return 2\n"),
}


@pytest.mark.parametrize(("before", "after"), SOUND.values(), ids=SOUND)
def test_sound(before, after):
    assert _problems(before, after) == []


UNSOUND = {
    "no Python": ("x = 1\n", "x = = 1\n", "the result does not parse"),
    "an unbound name": ("x = 1\n", "x = y\n", "the name 'y' is used but bound nowhere"),
    "an unbound name in a function": ("", "def f(): return y\n", "the name 'y'"),
    "a name that lost its import": ("import torch\ntorch.x\n", "torch.x\n", "the name 'torch'"),
    "a name that lost its assignment": (
        "def f():\n    d = 1\n    return d\n",
        "def f():\n    return d\n",
        "the name 'd'",
    ),
    "a name bound in another function": ("", "def f():\n    y = 1\ndef g():\n    return y\n", "the name 'y'"),
    "a name bound in a class": ("", "class C:\n    y = 1\n    def f(self): return y\n", "the name 'y'"),
    "a star in a string": ("", "'from a import *'\ny\n", "the name 'y'"),
    "read above its only binding": (
        "def f(b):\n    print(b)\n    a = 1\n",
        "def f(b):\n    print(b, a)\n    a = 1\n",
        "in `f` the name 'a' is used before it is bound",
    ),
    "read above it on a branch": ("", "def f(b):\n    if b: print(a)\n    a = 1\n", "the name 'a' is used before"),
    "bound in a loop below": ("", "def f(b):\n    print(a)\n    for a in b: pass\n", "the name 'a' is used before"),
    "read above an import": ("", "def f():\n    a.c()\n    import a.b\n", "the name 'a' is used before"),
    "read above a definition": ("", "def f():\n    a()\n    def a(): pass\n", "the name 'a' is used before"),
    "read in a loop above": ("", "def f(b):\n    for i in b: a\n    a = 1\n", "the name 'a' is used before"),
    "a repeated keyword": ("f(a=1)\n", "f(a=1, a=2)\n", "the result does not"),
    "a late future": (
        "from __future__ import annotations\n",
        "import a\nfrom __future__ import annotations\n",
        "does not compile",
    ),
    "a return outside": ("x = 1\n", "return 1\n", "does not compile"),
}


@pytest.mark.parametrize(("before", "after", "problem"), UNSOUND.values(), ids=UNSOUND)
def test_unsound(before, after, problem):
    assert problem in _problems(before, after)[0]


def test_every_unbound_name_is_named():
    assert len(_problems("", "a, b, a\n")) == 2


def test_warnings_about_the_text_do_not_leak():
    assert _problems("", "x = '\\d' is 1\n") == []
