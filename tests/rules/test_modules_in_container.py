"""DVF204: modules in plain containers."""

from textwrap import dedent, indent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.source import Source

CODE = "DVF204"

HEAD = """\
import torch
from torch import nn

"""


def net(body: str, rest: str = "") -> str:
    """A module whose constructor has `body` after `super().__init__()`, and `rest` as further methods."""
    text = "class Net(nn.Module):\n    def __init__(self, n, block):\n        super().__init__()\n"
    return HEAD + text + indent(dedent(body).strip("\n"), " " * 8) + "\n\n" + indent(dedent(rest).strip("\n"), " " * 4)


SILENT = {
    "a table from which the constructor takes one": net(
        """
        self.known = {"small": nn.Linear(2, 2), "large": nn.Linear(2, 4)}
        chosen = self.find(name)
        self.body = nn.Sequential(*list(chosen.children())[:-1])
        """,
        """
        def find(self, name):
            found = self.known[name]
            return found
        """,
    ),
    "a module list": net("self.layers = nn.ModuleList([nn.Linear(2, 2)])"),
    "wrapped later": net("""
        self.layers = []
        for i in range(n):
            self.layers.append(nn.Linear(2, 2))
        self.layers = nn.ModuleList(self.layers)
    """),
    "spread into a sequential": net("""
        self.layers = [nn.Linear(2, 2), nn.ReLU()]
        self.net = nn.Sequential(*self.layers)
    """),
    "a local list for a sequential": net("""
        layers = [nn.Linear(2, 2)]
        layers.append(nn.ReLU())
        self.net = nn.Sequential(*layers)
        self.parts = layers
    """),
    "a local list kept beside its module list": net("""
        layers = []
        layers.append(nn.Linear(2, 2))
        self.parts = layers
        self.net = nn.ModuleList(layers)
    """),
    "added by name": net("""
        self.layers = []
        for i in range(n):
            layer = nn.Linear(2, 2)
            self.add_module(f"layer{i}", layer)
            self.layers.append(layer)
    """),
    "set as attributes": net("""
        self.layers = []
        for i in range(n):
            layer = nn.Linear(2, 2)
            setattr(self, f"layer{i}", layer)
            self.layers.append(layer)
    """),
    "registered modules by index": net("""
        self.up = nn.Linear(2, 2)
        self.down = nn.Linear(2, 2)
        self.layers = [self.up, self.down]
    """),
    "a registered module under a local name": net("""
        up = nn.Linear(2, 2)
        self.up = up
        self.layers = [up, nn.Linear(2, 2)]
    """),
    "assigned to two names at once": net("""
        self.layers = []
        self.up = up = nn.Linear(2, 2)
        self.layers.append(up)
    """),
    "a teacher that is kept out": net("self.teacher = [block]"),
    "a model built into a list of one": net(
        "self.reference = [nn.Linear(2, 2)]", "def forward(self, x):\n    return self.reference[0](x)"
    ),
    "a frozen teacher by its name": net("self.teachers = [nn.Linear(2, 2), nn.Linear(2, 2)]"),
    "a comment that says so": net("""
        # a list, so that they are not registered
        self.nets = [nn.Linear(2, 2), nn.Linear(2, 2)]
    """),
    "frozen where it is built": net("self.nets = [nn.Linear(2, 2).eval(), nn.Linear(2, 2).requires_grad_(False)]"),
    "parameters handled by hand": net(
        "self.nets = [nn.Linear(2, 2) for _ in range(n)]",
        "def all_parameters(self):\n    return [p for net in self.nets for p in net.parameters()]",
    ),
    "its own way to move": net(
        "self.nets = [nn.Linear(2, 2) for _ in range(n)]",
        "def _apply(self, fn):\n    super()._apply(fn)\n    [net._apply(fn) for net in self.nets]\n    return self",
    ),
    "functions without parameters": net("""
        self.acts = [nn.ReLU(), nn.Tanh()]
        self.by_name = {"relu": nn.ReLU(), "drop": nn.Sequential(nn.ReLU(), nn.Dropout(0.1))}
    """),
    "losses": net("self.losses = [nn.MSELoss(), nn.L1Loss()]\nself.criteria = {'a': nn.Linear(2, 2)}"),
    "classes": net('self.kinds = {"linear": nn.Linear, "conv": nn.Conv2d}'),
    "numbers and strings": net("self.sizes = [2, 3]\nself.names = ['a', 'b']\nself.rest = []"),
    "tensors and parameters": net("self.weights = [torch.zeros(2), nn.Parameter(torch.zeros(2))]"),
    "unknown things": net("self.parts = [block() for _ in range(n)]\nself.more = [make(i) for i in range(n)]"),
    "no module": HEAD
    + dedent("""
        class Trainer:
            def __init__(self):
                self.nets = [nn.Linear(2, 2), nn.Linear(2, 2)]
    """),
    "a base that is not known": "from torch import nn\nfrom .base import Base\n"
    + dedent("""
        class Trainer(Base):
            def __init__(self):
                super().__init__()
                self.nets = [nn.Linear(2, 2), nn.Linear(2, 2)]
            def forward(self, x):
                return self.nets[0](x)
    """),
    "another library's module": dedent("""
        import torch
        from flax import linen as nn
        class Net(nn.Module):
            def setup(self):
                self.layers = [nn.Dense(2) for _ in range(3)]
    """),
    "layers of a forward": net("self.n = n", "def forward(self, x):\n    self.seen = [nn.Linear(2, 2)]\n    return x"),
    "a part taken into an attribute": net("""
        choices = {"a": nn.Linear(2, 2), "b": nn.Linear(3, 3)}
        self.choices = {"a": nn.Linear(2, 2), "b": nn.Linear(3, 3)}
        self.head = self.choices[block]
    """),
    "a module dict in the other case": net("""
        self.nets = {} if block else nn.ModuleDict()
        self.nets["a"] = nn.Linear(2, 2)
    """),
    "put into another list as well": net("""
        layers = []
        self.ordered = []
        for i in range(n):
            layer = nn.Linear(2, 2)
            layers.append(layer)
            self.ordered.append(layer)
        self.layers = nn.Sequential(*layers)
    """),
    "a base class that adds them by name": HEAD
    + dedent("""
        class Base(nn.Module):
            def finish(self):
                for i, layer in enumerate(self.layers):
                    self.add_module(str(i), layer)

        class Net(Base):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(2, 2)]
                self.finish()
    """),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program):
    assert rule.findings(program) == ()


OTHER = {
    "sorted": ("self.nets = [nn.Linear(i, 2) for i in range(n)]", "def order(self):\n    self.nets.sort(key=len)"),
    "added to another list": (
        "self.nets = [nn.Linear(i, 2) for i in range(n)]",
        "def more(self):\n    return [1] + self.nets",
    ),
    "asked whether it is a list": (
        "self.nets = [nn.Linear(i, 2) for i in range(n)]",
        "def more(self):\n    return isinstance(self.nets, list)",
    ),
    "a dict's get": (
        "self.nets = {'a': nn.Linear(2, 2)}",
        "def forward(self, x, name):\n    return self.nets.get(name)(x)",
    ),
    "keys that are no strings": ("self.nets = {2: nn.Linear(2, 2)}", ""),
    "counted keys": ("self.nets = {i: nn.Linear(2, 2) for i in range(n)}", ""),
    "keys that are counted beside others": ("self.nets = {i: nn.Linear(w, 2) for i, w in enumerate(block)}", ""),
    "a key that counts up": (
        "self.nets = {}\ni = 0\nfor w in block:\n    self.nets[i] = nn.Linear(w, 2)\n    i += 1",
        "",
    ),
    "set by a pair": ("self.nets = dict()\nfor i in range(n):\n    self.nets[(i, block)] = nn.Linear(2, 2)", ""),
    "a key that a module dict refuses": ("self.nets = {'type': nn.Linear(2, 2)}", ""),
    "a key with a dot": ("self.nets = {'a.b': nn.Linear(2, 2)}", ""),
    "something else beside them": ("self.nets = [nn.Linear(2, 2), torch.relu]", ""),
    "numbers beside them": ("self.nets = [(nn.Linear(2, 2), 3), (nn.Linear(2, 2), 4)]", ""),
    "built by a parameter and called": (
        "self.nets = [block(i) for i in range(n)]",
        "def forward(self, x):\n    for one in self.nets:\n        x = one(x)\n    return x",
    ),
}


@pytest.mark.parametrize(("name", "is_told"), [("semantic_heads", True), ("net_emas", False), ("netEma", False)])
def test_an_average_is_kept_out_by_a_word_of_its_name(rule, name: str, is_told: bool) -> None:
    assert bool(rule.findings(net(f"self.{name} = [nn.Linear(2, 2), nn.Linear(2, 2)]"))) == is_told


@pytest.mark.parametrize(("body", "rest"), OTHER.values(), ids=OTHER.keys())
def test_what_a_module_container_could_not_do_is_left_alone(rule, body, rest):
    assert rule.findings(net(body, rest)) == ()


def test_before_the_constructor_of_the_base_nothing_can_be_registered(rule):
    program = """
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                self.layers = [nn.Linear(2, 2)]
                super().__init__()

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
    """
    assert rule.findings(program) == ()


FIXED = {
    "literal": ("self.nets = [nn.Linear(2, 2), nn.ReLU()]", "self.nets = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])"),
    "tuple": ("self.nets = (nn.Linear(2, 2), nn.ReLU())", "self.nets = nn.ModuleList((nn.Linear(2, 2), nn.ReLU()))"),
    "tuple without brackets": (
        "self.a = [nn.Linear(2, 2), nn.ReLU()]\nself.nets = nn.Linear(2, 2), nn.ReLU()",
        "self.a = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])\nself.nets = nn.ModuleList((nn.Linear(2, 2), nn.ReLU()))",
    ),
    "comprehension": (
        "self.nets = [nn.Linear(i, 2) for i in range(n)]",
        "self.nets = nn.ModuleList([nn.Linear(i, 2) for i in range(n)])",
    ),
    "generator": (
        "self.nets = list(nn.Linear(i, 2) for i in range(n))",
        "self.nets = nn.ModuleList(list(nn.Linear(i, 2) for i in range(n)))",
    ),
    "sum": (
        "self.nets = [nn.Linear(1, 2)] + [nn.Linear(2, 2) for _ in range(n)]",
        "self.nets = nn.ModuleList([nn.Linear(1, 2)] + [nn.Linear(2, 2) for _ in range(n)])",
    ),
    "dict": ("self.nets = {'a': nn.Linear(1, 2)}", "self.nets = nn.ModuleDict({'a': nn.Linear(1, 2)})"),
    "dict comprehension": (
        "self.nets = {f'net{i}': nn.Linear(1, 2) for i in range(n)}",
        "self.nets = nn.ModuleDict({f'net{i}': nn.Linear(1, 2) for i in range(n)})",
    ),
    "nested": (
        "self.nets = [(nn.Linear(1, 2), nn.Dropout(0.1)) for _ in range(n)]",
        "self.nets = nn.ModuleList([nn.ModuleList((nn.Linear(1, 2), nn.Dropout(0.1))) for _ in range(n)])",
    ),
    "filled": (
        "self.nets = []\nfor i in n:\n    self.nets.append(nn.Linear(i, 2))\nself.nets += [nn.ReLU()]",
        "self.nets = nn.ModuleList()\nfor i in n:\n    self.nets.append(nn.Linear(i, 2))\nself.nets += [nn.ReLU()]",
    ),
    "filled with pairs": (
        "self.nets = []\nself.nets.append([nn.Linear(1, 2), nn.ReLU()])",
        "self.nets = nn.ModuleList()\nself.nets.append(nn.ModuleList([nn.Linear(1, 2), nn.ReLU()]))",
    ),
    "filled through a name": (
        "nets = []\nfor i in n:\n    net = nn.Linear(i, 2)\n    nets.append(net)\nself.nets = nets",
        "nets = []\nfor i in n:\n    net = nn.Linear(i, 2)\n    nets.append(net)\nself.nets = nn.ModuleList(nets)",
    ),
    "by key": (
        "self.nets = {}\nfor i in range(n):\n    self.nets[str(i)] = nn.Linear(i, 2)",
        "self.nets = nn.ModuleDict()\nfor i in range(n):\n    self.nets[str(i)] = nn.Linear(i, 2)",
    ),
    "either of two": (
        "self.nets = [nn.Linear(2, 2) for _ in range(n)] if n else None",
        "self.nets = nn.ModuleList([nn.Linear(2, 2) for _ in range(n)]) if n else None",
    ),
    "in branches": (
        "if n:\n    self.nets = [nn.Linear(2, 2)] * n\nelse:\n    self.nets = None",
        "if n:\n    self.nets = nn.ModuleList([nn.Linear(2, 2)] * n)\nelse:\n    self.nets = None",
    ),
    "annotated": (
        "self.nets: list[nn.Module] = [nn.Linear(2, 2), nn.ReLU()]",
        "self.nets: nn.ModuleList = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])",
    ),
    "some without parameters": (
        "self.nets = [nn.Linear(2, 2) if i else nn.Identity() for i in range(n)]",
        "self.nets = nn.ModuleList([nn.Linear(2, 2) if i else nn.Identity() for i in range(n)])",
    ),
    "moved one by one": (
        "self.nets = [nn.Linear(2, 2).to('cuda') for i in range(n)]",
        "self.nets = nn.ModuleList([nn.Linear(2, 2).to('cuda') for i in range(n)])",
    ),
    "moved in a loop": (
        "self.nets = [nn.Linear(2, 2) for i in range(n)]\nfor net in self.nets:\n    net.to(block)",
        "self.nets = nn.ModuleList([nn.Linear(2, 2) for i in range(n)])\nfor net in self.nets:\n    net.to(block)",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED.keys())
def test_fixed_with_unsafe(rule, before, after):
    assert rule.unchanged_unless_unsafe(net(before)) == net(after)


def test_classes_functions_and_methods_of_the_file(rule):
    program = """
        import torch.nn as tn

        def block(n):
            if n > 2:
                return tn.Sequential(tn.Linear(n, n), tn.ReLU())
            return tn.Linear(n, n)

        class Cell(tn.Module):
            def __init__(self):
                super().__init__()
                self.inner = tn.Linear(2, 2)

        class Net(tn.Module):
            def __init__(self):
                super().__init__()
                self.cells = [Cell() for _ in range(2)]
                self.blocks = [block(i) for i in range(2)]
                self.made = [self._make(i) for i in range(2)]

            def _make(self, n):
                return tn.Linear(n, n)
    """
    fixed = rule.fixed(program, unsafe=True)
    assert fixed.count("tn.ModuleList([") == 3


@pytest.mark.parametrize(
    ("imports", "base", "written"),
    [
        ("import torch", "torch.nn.Module", "torch.nn.ModuleList(["),
        ("import torch.nn", "torch.nn.Module", "torch.nn.ModuleList(["),
        ("from torch.nn import Linear, Module, ModuleList", "Module", " ModuleList(["),
        ("from torch.nn import Linear, Module", "Module", "nn.ModuleList(["),
        ("from layers import *", "nn.Module", "nn.ModuleList(["),
    ],
)
def test_the_name_is_spelled_as_the_file_can(rule, imports, base, written):
    linear = base.replace("Module", "Linear")
    program = f"""
        {imports}  # torch

        class Net({base}):
            def __init__(self):
                super().__init__()
                self.layers = [{linear}(2, 2) for _ in range(2)]
    """
    fixed = rule.fixed(program, unsafe=True)
    assert written in fixed
    assert ("from torch import nn" in fixed) == (written == "nn.ModuleList([" and "torch.nn" in imports)


def test_what_is_emptied_later_stays_a_container_of_modules(rule):
    program = net("self.nets = [nn.Linear(2, 2) for _ in range(n)]", "def clear(self):\n    self.nets = []")
    fixed = rule.fixed(program, unsafe=True)
    assert "self.nets = nn.ModuleList([nn.Linear(2, 2) for _ in range(n)])" in fixed
    assert "self.nets = nn.ModuleList()" in fixed


def test_what_a_subclass_adds_counts(rule):
    program = """
        import torch
        from torch import nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = []

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        class Net(Base):
            def __init__(self):
                super().__init__()
                self.layers.append(nn.Linear(2, 2))
    """
    assert "self.layers = nn.ModuleList()" in rule.fixed(program, unsafe=True)


def test_the_title_tells_the_effect(rule):
    finding = rule.finding(net("self.nets = [nn.Linear(2, 2), nn.ReLU()]"))
    assert "state_dict" in finding.fix.title
    assert "parameters" in finding.fix.title


NAMED_KEYS = {
    "of a comprehension": (
        "self.nets = {name: nn.Linear(w, 2) for name, w in block.items()}",
        "self.nets = nn.ModuleDict({name: nn.Linear(w, 2) for name, w in block.items()})",
    ),
    "of a loop": (
        "self.nets = {}\nfor task in block:\n    self.nets[task] = nn.Linear(n, 2)",
        "self.nets = nn.ModuleDict()\nfor task in block:\n    self.nets[task] = nn.Linear(n, 2)",
    ),
    "an attribute": (
        "self.nets = {block.name: nn.Linear(n, 2)}",
        "self.nets = nn.ModuleDict({block.name: nn.Linear(n, 2)})",
    ),
}


@pytest.mark.parametrize(("before", "after"), NAMED_KEYS.values(), ids=NAMED_KEYS.keys())
def test_keys_that_may_be_strings_are_suggested(rule, before, after):
    options = Options(frozenset({CODE}), suggestions=True)
    found = check(Source("net.py", net(before).encode()), options)
    assert isinstance(found, Checked)
    assert [one.fix.safety for one in found.findings if one.fix] == [Safety.SUGGESTION]
    changed = rewrite(Source("net.py", net(before).encode()), options, lambda _: True)
    assert isinstance(changed, Changed)
    assert changed.data.decode() == net(after)


SURE_KEYS = ["'net_' + str(i)", "'net_%d' % i", "'net_{}'.format(i)", "f'net_{i}'"]


@pytest.mark.parametrize("key", SURE_KEYS)
def test_keys_that_are_put_together_are_strings(rule, key):
    text = net(f"self.nets = {{{key}: nn.Linear(2, 2) for i in range(n)}}")
    assert rule.safeties(text) == [Safety.UNSAFE]


def test_a_key_with_a_format_of_its_own_may_have_a_dot(rule) -> None:
    text = net("self.nets = {f'net_{i:.1f}': nn.Linear(2, 2) for i in range(n)}")
    assert Safety.UNSAFE not in rule.safeties(text)


def test_a_list_that_a_loop_binds_anew_on_a_condition(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, skip):
                super().__init__()
                layers = []
                for i in range(3):
                    layers = layers if skip else layers + [nn.Linear(4, 4)]
                self.layers = layers
            def forward(self, x):
                for one in self.layers:
                    x = one(x)
                return x
    """
    assert all(one.code == CODE for one in rule.findings(program))


def test_a_class_that_never_sets_its_base_up(rule) -> None:
    """It fails where the list is assigned, whatever the list is."""
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, n):
                self.parts = [nn.Linear(n, n) for _ in range(3)]
            def forward(self, x):
                return self.parts[0](x)
    """
    assert all(one.fix is None for one in rule.findings(program))
