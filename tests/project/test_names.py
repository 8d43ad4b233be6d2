"""What a name refers to."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods.project.names import Names


def resolved(program: str) -> str | None:
    """The qualified name of what the last `use(…)` gets."""
    tree = ast.parse(dedent(program))
    names = Names(tree)
    calls = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "use"]
    return names.qualified(calls[-1].args[0])


RESOLVED = {
    "imported by global": ("def f():\n    global torch\n    import torch\nuse(torch.cat)", "torch.cat"),
    "import": ("import torch\nuse(torch.nn.Linear)", "torch.nn.Linear"),
    "import as": ("import torch as th\nuse(th.zeros)", "torch.zeros"),
    "submodule as": ("import torch.nn.functional as F\nuse(F.relu)", "torch.nn.functional.relu"),
    "submodule": ("import torch.nn.functional\nuse(torch.cat)", "torch.cat"),
    "two submodules": ("import torch.nn\nimport torch.optim\nuse(torch.optim.Adam)", "torch.optim.Adam"),
    "from": ("from torch import nn\nuse(nn.Linear)", "torch.nn.Linear"),
    "from as": ("from torch import nn as layers\nuse(layers.Linear)", "torch.nn.Linear"),
    "an alias": ("import torch\ncast = torch.autocast\nuse(cast)", "torch.autocast"),
    "an alias of an alias": ("import torch\na = torch.nn\nb = a.functional\nuse(b.relu)", "torch.nn.functional.relu"),
    "in a function": ("import torch\ndef f():\n    use(torch.cat)", "torch.cat"),
    "imported in a function": ("def f():\n    import torch\n    use(torch.cat)", "torch.cat"),
    "in a method": ("import torch\nclass A:\n    def f(self):\n        use(torch.cat)", "torch.cat"),
    "in a class": ("class A:\n    import torch\n    use(torch.cat)", "torch.cat"),
    "past a class's own name": (
        "import torch\nclass A:\n    torch = 1\n    def f(self):\n        use(torch.cat)",
        "torch.cat",
    ),
    "in a comprehension": ("import torch\n[use(torch.cat) for x in y]", "torch.cat"),
    "in a lambda": ("import torch\nf = lambda x: use(torch.cat)", "torch.cat"),
    "in a default": ("import torch\ndef f(torch=use(torch.cat)): pass", "torch.cat"),
    "in a decorator": ("import torch\n@use(torch.no_grad)\ndef f(torch): pass", "torch.no_grad"),
    "in a nested function": ("import torch\ndef f():\n    def g():\n        use(torch.cat)", "torch.cat"),
    "twice the same": ("try:\n    import torch\nexcept E:\n    import torch\nuse(torch.cat)", "torch.cat"),
    "the first name of a comprehension's source": ("from torch import xs\n[x for x in use(xs)]", "torch.xs"),
    "global in a function that only reads": (
        "import torch\ndef f():\n    global torch\n    use(torch.cat)",
        "torch.cat",
    ),
}


@pytest.mark.parametrize(("program", "expected"), RESOLVED.values(), ids=RESOLVED)
def test_resolved(program: str, expected: str) -> None:
    assert resolved(program) == expected


NOT_RESOLVED = {
    "rebound by nonlocal": (
        "def f():\n    import torch\n    def g():\n        nonlocal torch\n        torch = load()\n    use(torch.cat)"
    ),
    "an alias by global": "import torch\ndef f(x):\n    global torch\n    torch = x.y\nuse(torch.cat)",
    "a function by global": "import torch\ndef f():\n    global torch\n    def torch(): pass\nuse(torch.cat)",
    "nothing binds it": "use(torch.cat)",
    "a parameter": "import torch\ndef f(torch):\n    use(torch.cat)",
    "a star parameter": "import torch\ndef f(*torch):\n    use(torch.cat)",
    "a keyword parameter": "import torch\ndef f(*, torch, **k):\n    use(torch.cat)",
    "a lambda's parameter": "import torch\nlambda torch: use(torch.cat)",
    "assigned as well": "import torch\ntorch = load()\nuse(torch.cat)",
    "assigned in the function": "import torch\ndef f():\n    torch = load()\n    use(torch.cat)",
    "assigned later in the function": "import torch\ndef f():\n    use(torch.cat)\n    torch = load()",
    "a loop": "import torch\nfor torch in xs:\n    use(torch.cat)",
    "a comprehension": "import torch\n[use(torch.cat) for torch in xs]",
    "with": "import torch\nwith a as torch:\n    use(torch.cat)",
    "an exception": "import torch\ntry: pass\nexcept E as torch:\n    use(torch.cat)",
    "a function": "import torch\ndef torch(): pass\nuse(torch.cat)",
    "a class": "import torch\nclass torch: pass\nuse(torch.cat)",
    "a walrus": "import torch\nif (torch := 1):\n    use(torch.cat)",
    "deleted": "import torch\ndel torch\nuse(torch.cat)",
    "augmented": "import torch\ntorch += 1\nuse(torch.cat)",
    "unpacked": "import torch\ntorch, x = 1, 2\nuse(torch.cat)",
    "a match": "import torch\nmatch x:\n    case [torch]:\n        use(torch.cat)",
    "the rest of a match": "import torch\nmatch x:\n    case {'a': 1, **torch}:\n        use(torch.cat)",
    "a relative import": "from . import torch\nuse(torch.cat)",
    "a relative module": "from .torch import cat\nuse(cat)",
    "an alias of something unknown": "import torch\nx = load\nx = torch.cat\nuse(x)",
    "an alias of itself": "import torch\nx = x.a\nuse(x)",
    "two different things": "try:\n    from torch import a as f\nexcept E:\n    from numpy import b as f\nuse(f)",
    "a call": "import torch\nuse(torch.device())",
    "an item": "import torch\nuse(torch.x[0])",
}


@pytest.mark.parametrize("program", NOT_RESOLVED.values(), ids=NOT_RESOLVED)
def test_not_resolved(program: str) -> None:
    assert resolved(program) is None


def candidates(program: str) -> set[str]:
    tree = ast.parse(dedent(program))
    names = Names(tree)
    call = next(one for one in ast.walk(tree) if isinstance(one, ast.Call) and ast.unparse(one.func) == "use")
    return {one.qualified for one in names.candidates(call.args[0])}


def test_both_sides_of_an_import_pair_are_candidates() -> None:
    program = """
        try:
            from torch.amp import autocast
        except ImportError:
            from torch.cuda.amp import autocast
        use(autocast)
    """
    assert candidates(program) == {"torch.amp.autocast", "torch.cuda.amp.autocast"}


def test_one_unknown_side_leaves_nothing() -> None:
    assert candidates("try:\n    from torch import a as f\nexcept E:\n    f = None\nuse(f)") == set()


def test_a_star_import_resolves_nothing_by_itself() -> None:
    assert candidates("from torch import *\nuse(cat)") == set()


def test_references_are_the_outermost_names_that_resolve() -> None:
    tree = ast.parse("import torch\nx = torch.nn.Linear(3).weight\ny = z.torch\n")
    found = [ast.unparse(node) for node, _ in Names(tree).references(tree)]
    assert found == ["torch.nn.Linear"]


def test_parents_lead_to_the_statement() -> None:
    tree = ast.parse("import torch\nif a:\n    x = f(g(torch.cat))\n")
    names = Names(tree)
    attribute = next(one for one in ast.walk(tree) if isinstance(one, ast.Attribute))
    assert ast.unparse(names.statement(attribute)) == "x = f(g(torch.cat))"
    assert list(names.ancestors(attribute))[-1] is tree


def test_what_was_seen_on_the_way() -> None:
    names = Names(ast.parse("import a\nclass B: pass\ndef f():\n    from c import d\n    d(e())\n"))
    assert [one.name for one in names.classes] == ["B"]
    assert len(names.imports) == 2
    assert [ast.unparse(one) for one in names.calls] == ["d(e())", "e()"]


def test_aliases_of_aliases_do_not_multiply() -> None:
    steps = "".join(f"if c:\n    a{i} = a{i - 1}\nelse:\n    a{i} = a{i - 1}\n" for i in range(1, 41))
    assert candidates(f"import torch\na0 = torch\n{steps}use(a40)") == {"torch"}


def test_what_is_read_to_set_an_attribute_is_a_reference() -> None:
    tree = ast.parse("import torch\ntorch.backends.cudnn.benchmark = True\n")
    assert [ast.unparse(node) for node, _ in Names(tree).references(tree)] == ["torch.backends.cudnn"]
