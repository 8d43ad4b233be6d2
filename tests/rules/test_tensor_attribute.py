"""DVF203: tensors in plain attributes, which `.to` does not carry."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF203"


def module(init: str, forward: str, more: str = "", base: str = "nn.Module") -> str:
    return (
        f"import torch\nfrom torch import nn\nclass A({base}):\n"
        "    def __init__(self, n, given: torch.Tensor = None):\n"
        f"        super().__init__()\n        {init}\n"
        f"    def forward(self, x: torch.Tensor):\n        {forward}\n{more}"
    )


SILENT = {
    "asked for its type": (
        "self.t = torch.zeros(3)",
        "return x + 1 if self.t.data.type() == x.data.type() else x",
    ),
    "a buffer": ("self.register_buffer('t', torch.zeros(3))", "return x + self.t"),
    "a buffer that a base registers empty": (
        "self.register_empty_buffer('t')\n        self.t = torch.zeros(3)",
        "return x + self.t",
    ),
    "a buffer in a branch, a parameter in the other": (
        (
            "if n:\n            self.t = nn.Parameter(torch.zeros(3))\n        else:\n"
            "            self.register_buffer('t', torch.zeros(3))"
        ),
        "return x + self.t",
    ),
    "a parameter, or what it is turned into": (
        "self.t = nn.Parameter(torch.randn(3))\n        self.p = nn.Linear(3, 3)",
        "t = self.t.detach()[0] if n else f(self.t)\n        return self.p(t)",
    ),
    "a parameter or nothing": (
        "self.t = None\n        if n:\n            self.t = nn.Parameter(torch.zeros(3))",
        "t = self.t\n        return x + t",
    ),
    "moved at its use": ("self.t = torch.zeros(3)", "return x + self.t.to(x.device)"),
    "moved in forward and kept": (
        "self.t = torch.zeros(3)",
        "self.t = self.t.to(x.device)\n        return x + self.t",
    ),
    "a number": ("self.t = torch.tensor(2.0)", "return x * self.t"),
    "something that may be a number": ("self.t = torch.tensor(n)", "return x * self.t"),
    "a power of a number": ("self.t = torch.tensor(2.0)", "return x * self.t.pow(2).add(self.t)"),
    "a number that stays one": ("self.t = torch.tensor(n).float().squeeze()", "return x * self.t"),
    "never met": ("self.t = torch.zeros(3)", "return x, self.t"),
    "only its shape": ("self.t = torch.zeros(3)", "return x.view(self.t.shape) * self.t.size(0)"),
    "a host index into the input": ("self.t = torch.arange(3)", "return x[self.t]"),
    "met on the host": ("self.t = torch.zeros(3)", "return (x.cpu() + self.t).numpy()"),
    "an array": ("self.t = np.zeros(3)", "return x + self.t"),
    "made on a device": ("self.t = torch.zeros(3, device=n)", "return x + self.t"),
    "a default that is made on a device": (
        "if given is None:\n            given = torch.zeros(3, device=n)\n        self.t = given",
        "return x + self.t",
    ),
    "moved at its way through a name": (
        "self.t = torch.zeros(3)",
        "t = self.t.repeat(2, 1).to(x.device)\n        return t + x",
    ),
}


def test_what_is_moved_where_it_is_made(rule):
    program = """\
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self, on_card):
        super().__init__()
        self.encoder = nn.LSTM(4, 8)
        self.on_card = on_card
    def zero_state(self, inputs):
        h, c = torch.zeros(1, 3, 8), torch.zeros(1, 3, 8)
        return (h.cuda(), c.cuda()) if self.on_card else (h, c)
    def state(self):
        h = torch.zeros(1, 3, 8)
        if self.on_card:
            return h.cuda()
        return h
    def encode(self, inputs):
        self.h, self.c = self.zero_state(inputs)
        self.first = self.state()
        return self.encoder(inputs + self.first, (self.h, self.c))
"""
    assert rule.findings(program) == ()


@pytest.mark.parametrize(("init", "forward"), SILENT.values(), ids=SILENT)
def test_silent(rule, init: str, forward: str) -> None:
    assert rule.findings(module(init, forward)) == ()


BUFFERS = """
from typing import Generic, TypeVar
import torch
from torch import nn
T = TypeVar("T")
class Tensors(nn.Module):
    def __setattr__(self, name, value):
        if isinstance(value, torch.Tensor):
            {sets}
        else:
            super().__setattr__(name, value)
class Operator(Generic[T], Tensors):
    pass
class Book(Operator{types}):
    def __init__(self):
        super().__init__()
        self.pages = torch.tensor([])
    def append(self, page: torch.Tensor):
        self.pages = torch.cat((self.pages, page))
    def forward(self, x: torch.Tensor):
        return x @ self.pages
"""


@pytest.mark.parametrize("types", ["", "[torch.Tensor]", "[tuple[int, str]]"])
def test_a_base_makes_buffers_of_tensors(rule, types: str) -> None:
    assert rule.findings(BUFFERS.format(sets="self.register_buffer(name, value)", types=types)) == ()


DIMENSIONS = {
    "a power of several": ("self.t = torch.tensor([2.0])", "return x - self.t.pow(2)"),
    "a view": ("self.t = torch.tensor(n).view(1, 3, 1, 1)", "return x - self.t"),
    "one more dimension": ("self.t = torch.tensor(n).float().unsqueeze(-1)", "return x - self.t"),
    "new dimensions by an index": ("self.t = torch.tensor(n)[:, None, None]", "return x - self.t"),
    "new dimensions at the use": ("self.t = torch.tensor(n)", "return x - self.t[None, :]"),
    "a row of a table": ("self.t = torch.zeros(n, 3)", "return x - self.t[n]"),
    "a row of a table by its size": ("self.t = torch.empty((n, 3)).float()", "return x - self.t[0, :]"),
    "a row that was filled": (
        "self.t = torch.empty((n, 3))\n        for i in range(n):\n            self.t[i] = torch.randperm(3)",
        "return x - self.t[0]",
    ),
    "a row of rows": ("self.t = torch.tensor([[1.0, 2.0], [3.0, 4.0]])", "return x - self.t[0]"),
}


@pytest.mark.parametrize(("init", "forward"), DIMENSIONS.values(), ids=DIMENSIONS)
def test_what_has_dimensions_is_no_number(rule, init: str, forward: str) -> None:
    assert rule.finding(module(init, forward)).fix is not None


NUMBERS = {
    "an element of a row": ("self.t = torch.zeros(n, 3)", "return x - self.t[n][0]"),
    "an element of a row by its name": ("self.t = torch.zeros(n, 3)", "row = self.t[n]\n        return x - row[0]"),
    "an element of one dimension": ("self.t = torch.zeros(n)", "return x - self.t[n]"),
    "an element of a size that is given": ("self.t = torch.zeros(*n)", "return x - self.t[0]"),
    "an element of what is flat": ("self.t = torch.zeros(n, 3).flatten()", "return x - self.t[0]"),
    "an element of numbers": ("self.t = torch.tensor([1.0, 2.0])", "return x - self.t[0]"),
}


@pytest.mark.parametrize(("init", "forward"), NUMBERS.values(), ids=NUMBERS)
def test_what_has_none_is(rule, init: str, forward: str) -> None:
    assert rule.findings(module(init, forward)) == ()


CARRIED = {
    "its own to": "    def to(self, *a):\n        self.t = self.t.to(*a)\n        return super().to(*a)\n",
    "its own _apply": "    def _apply(self, fn):\n        self.t = fn(self.t)\n        return super()._apply(fn)\n",
    "an _apply over all": (
        "    def _apply(self, fn):\n        for k, v in vars(self).items():\n            setattr(self, k, fn(v))\n"
    ),
    "a method that places it": "    def place(self, device):\n        self.t = self.t.to(device)\n",
    "a function of its own": (
        "    def place(self, x):\n        if x.is_cuda:\n            self.t = to_device(x, self.t)\n"
    ),
    "a look at where it is": "    def place(self, x):\n        return self.t if self.t.device == x.device else None\n",
    "a move that is thrown away": "    def place(self, x):\n        if x.is_cuda:\n            self.t.to(x.device)\n",
    "one to CUDA": "    def place(self):\n        self.t.cuda()\n",
    "the code around it": "model = A(3)\nmodel.t = model.t.cuda()\n",
}


@pytest.mark.parametrize("more", CARRIED.values(), ids=CARRIED)
def test_what_is_carried_along_by_hand(rule, more: str) -> None:
    assert rule.findings(module("self.t = torch.zeros(3)", "return x + self.t", more)) == ()


PROPERTY = """\
    @property
    def t(self):
        return self.get_buffer("_t")
    @t.setter
    def t(self, value):
        self.register_buffer("_t", value, persistent=False)
"""


def test_what_the_setter_of_a_property_gets_is_no_plain_attribute(rule) -> None:
    assert rule.findings(module("t = torch.zeros(3)\n        self.t = t", "return x + self.t[:2]", PROPERTY)) == ()


def test_nor_is_it_where_a_base_has_the_property(rule) -> None:
    base = "import torch\nfrom torch import nn\nclass B(nn.Module):\n" + PROPERTY
    assert rule.findings(base + module("self.t = torch.zeros(3)", "return x + self.t", base="B")) == ()


def test_a_method_of_that_name_is_no_setter(rule) -> None:
    more = "    def t(self):\n        return 0\n"
    assert rule.finding(module("self.t = torch.zeros(3)", "return x + self.t", more)).fix is not None


def test_a_class_that_may_be_for_the_host_alone(rule) -> None:
    program = """
        import torch
        class Collator:
            def __init__(self):
                self.mean = torch.zeros(3)
            def __call__(self, x: torch.Tensor):
                return x - self.mean
    """
    assert rule.findings(program) == ()


def test_whole_numbers_become_a_buffer(rule) -> None:
    program = module("self.t = torch.arange(n).unsqueeze(0)  # places", "return x + self.t")
    fixed = rule.fixed(program)
    assert 'self.register_buffer("t", torch.arange(n).unsqueeze(0), persistent=False)  # places' in fixed
    assert rule.safeties(program) == [Safety.SAFE]


@pytest.mark.parametrize("forward", ["return x + self.t[:, None]", "return (x + self.t) * self.t - self.t"])
def test_other_numbers_become_an_unsafe_buffer(rule, forward: str) -> None:
    program = module("self.t = torch.zeros(3)", forward)
    assert 'self.register_buffer("t", torch.zeros(3), persistent=False)' in rule.unchanged_unless_unsafe(program)


def test_both_branches_become_buffers(rule) -> None:
    init = "if n:\n            self.t = torch.arange(3)\n        else:\n            self.t = torch.arange(4)"
    assert rule.fixed(module(init, "return x + self.t")).count("self.register_buffer") == 2


NO_BUFFER = {
    "before the module exists": ("pass", "self.t = torch.arange(3)\n        super().__init__()\n        "),
    "None before it": ("self.t = None\n        self.t = torch.arange(3)", ""),
    "several targets": ("self.t = self.u = torch.arange(3)", ""),
    "a leaf": ("self.t = torch.ones(3, dtype=torch.long, requires_grad=True)", ""),
}


@pytest.mark.parametrize(("init", "before"), NO_BUFFER.values(), ids=NO_BUFFER)
def test_what_cannot_be_registered_is_moved(rule, init: str, before: str) -> None:
    built = "super().__init__()\n        "
    program = module(init, "return x + self.t").replace(built, before or built, 1)
    assert "self.t.to(x.device)" in rule.fixed(program)


NO_REGISTRATION = {
    "a class attribute": "    t = None\n",
    "a list elsewhere": "    def reset(self):\n        self.t = [1]\n",
    "something unknown elsewhere": "    def reset(self, t):\n        self.t = t\n",
}


@pytest.mark.parametrize("more", NO_REGISTRATION.values(), ids=NO_REGISTRATION)
def test_a_name_that_cannot_be_a_buffer(rule, more: str) -> None:
    program = module("self.t = torch.arange(3)", "return x + self.t", more)
    assert "register_buffer" not in "".join(str(one.fix) for one in rule.findings(program))


def test_a_class_that_may_be_no_module_registers_nothing(rule) -> None:
    program = module("self.t = torch.arange(3)", "return x + self.t", base="Base")
    assert "self.t.to(x.device)" in rule.fixed(program)


def test_a_tensor_that_the_caller_may_give(rule) -> None:
    program = module("self.t = given if given is not None else torch.zeros(3)", "return (x + self.t) * self.t / self.t")
    fixed = rule.unchanged_unless_unsafe(program)
    assert 'self.register_buffer("t", given if given is not None else torch.zeros(3), persistent=False)' in fixed


DEFAULTS = {
    "by a branch": "if given is None:\n            given = torch.zeros(3)\n        self.t = given",
    "by an expression": "given = torch.zeros(3) if given is None else given\n        self.t = given",
    "or a look at it": (
        "if given is None:\n            given = torch.zeros(3)\n        else:\n            n = given.shape[-1]\n"
        "        self.t = given"
    ),
}


@pytest.mark.parametrize("init", DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_of_a_parameter(rule, init: str) -> None:
    fixed = rule.unchanged_unless_unsafe(module(init, "return x + self.t"))
    assert 'self.register_buffer("t", given, persistent=False)' in fixed


def test_a_use_through_a_local_name(rule) -> None:
    program = module("self.t = torch.zeros(3)", "t = self.t.repeat(2, 1)\n        return t + x")
    assert 'self.register_buffer("t", torch.zeros(3), persistent=False)' in rule.unchanged_unless_unsafe(program)


def test_a_use_through_a_local_name_is_moved_there(rule) -> None:
    program = module("self.t = self.u = torch.zeros(3)", "t = self.t.repeat(2, 1)\n        return t + x")
    assert "return t.to(x.device) + x" in rule.fixed(program)


CONVERTED = {
    "a list by default": ("n=[0.1, 0.2]", "self.t = torch.tensor(n)"),
    "a tuple by default": ("n=(0.1, 0.2)", "self.t = torch.as_tensor(n, dtype=torch.float32)"),
    "an array": ("n: np.ndarray", "self.t = torch.tensor(n)"),
    "an array that is made here": ("n", "b = np.linspace(0, 1, n)\n        self.t = torch.tensor(1 - b)"),
    "an array of an array": ("n", "b = np.cumprod(np.array([n, n]))\n        self.t = torch.tensor(b.astype('f'))"),
    "a sorted list": ("n", "b = sorted([n, 3])\n        self.t = torch.tensor(b)"),
}
NUMBERS = {
    "by its default": ("n=0.1", "self.t = torch.tensor(n)"),
    "by its annotation": ("n: float", "self.t = torch.tensor(n)"),
    "nothing is known": ("n", "self.t = torch.tensor(n)"),
    "bound anew": ("n: list[float]", "n = sum(n)\n        self.t = torch.tensor(n)"),
    "one in a branch": ("n", "b = np.arange(3)\n        if n:\n            b = 3\n        self.t = torch.tensor(b)"),
    "one of an array": ("n", "b = np.arange(3)\n        self.t = torch.tensor(b[0])"),
    "their sum": ("n", "b = np.arange(3).sum()\n        self.t = torch.tensor(b)"),
}


def converted(parameter: str, init: str) -> str:
    return (
        "import numpy as np\nimport torch\nfrom torch import Tensor, nn\nclass A(nn.Module):\n"
        f"    def __init__(self, {parameter}):\n        super().__init__()\n        {init}\n"
        "    def forward(self, x: Tensor):\n        return x * self.t\n"
    )


@pytest.mark.parametrize(("parameter", "init"), CONVERTED.values(), ids=CONVERTED)
def test_what_is_converted_has_dimensions(rule, parameter: str, init: str) -> None:
    assert "register_buffer" in rule.unchanged_unless_unsafe(converted(parameter, init))


@pytest.mark.parametrize(("parameter", "init"), NUMBERS.values(), ids=NUMBERS)
def test_what_is_converted_may_be_a_number(rule, parameter: str, init: str) -> None:
    assert rule.findings(converted(parameter, init)) == ()


OTHERS = {
    "an option of that name": ("self.t = torch.zeros(n.t)", ""),
    "another class, which moves its own": (
        "self.t = torch.zeros(3)",
        "class B:\n    def start(self, device):\n        self.t = self.t.to(device)\n",
    ),
    "another class, which asks for its own": (
        "self.t = torch.zeros(3)",
        "class B:\n    def start(self, x):\n        assert self.t.device == x.device\n",
    ),
}


@pytest.mark.parametrize(("init", "more"), OTHERS.values(), ids=OTHERS)
def test_what_does_not_carry_it_along(rule, init: str, more: str) -> None:
    fixed = rule.unchanged_unless_unsafe(module(init, "return x + self.t", more))
    assert fixed.count('self.register_buffer("t", torch.zeros(') == 1


CARRIED_BY_ANOTHER = {
    "its base": "class B(A):\n    def start(self, device):\n        self.t = self.t.to(device)\n",
    "who holds it": "class B:\n    def start(self, device):\n        self.a.t = self.a.t.to(device)\n",
    "a helper that gets it": "class B(A):\n    def start(self, device):\n        self.t = place(self.t, device)\n",
}


@pytest.mark.parametrize("more", CARRIED_BY_ANOTHER.values(), ids=CARRIED_BY_ANOTHER)
def test_what_another_class_carries_along(rule, more: str) -> None:
    assert rule.findings(module("self.t = torch.zeros(3)", "return x + self.t", more)) == ()


HELPERS = {
    "a function": ("self.t = table(n)", "def table(n):\n    return torch.arange(n) * 2.0\n"),
    "a method": ("self.t = self.make(n)", "    def make(self, n):\n        return torch.hann_window(n)\n"),
    "a static method, through a name": (
        "t = self.make(n)\n        self.t = t",
        "    @staticmethod\n    def make(n):\n        t = torch.zeros(n)\n        return t\n",
    ),
}


@pytest.mark.parametrize(("init", "more"), HELPERS.values(), ids=HELPERS)
def test_what_a_helper_makes(rule, init: str, more: str) -> None:
    assert 'self.register_buffer("t", ' in rule.unchanged_unless_unsafe(module(init, "return x + self.t", more))


PLACED_BY_HELPERS = {
    "on the device it is told": (
        "self.t = table(n, given.device)",
        "def table(n, device):\n    return torch.arange(n, device=device)\n",
    ),
    "in a branch": (
        "self.t = table(n)",
        "def table(n):\n    t = torch.arange(n)\n    if n > 3:\n        t = t.to(place())\n    return t\n",
    ),
    "for a parameter": ("self.t = nn.Parameter(table(n))", "def table(n):\n    return torch.zeros(n)\n"),
    "for a buffer": ("self.register_buffer('t', table(n))", "def table(n):\n    return torch.zeros(n)\n"),
}


@pytest.mark.parametrize(("init", "more"), PLACED_BY_HELPERS.values(), ids=PLACED_BY_HELPERS)
def test_what_a_helper_places(rule, init: str, more: str) -> None:
    assert rule.findings(module(init, "return x + self.t", more)) == ()


def test_what_a_part_computes_of_an_input(rule) -> None:
    program = module("self.net = n\n        self.t = torch.zeros(3)", "y = self.net(x)\n        return y * self.t")
    assert 'self.register_buffer("t", torch.zeros(3), persistent=False)' in rule.unchanged_unless_unsafe(program)


def test_what_unknown_code_computes_of_nothing(rule) -> None:
    init = "self.net = n\n        self.t = torch.zeros(3)"
    assert rule.findings(module(init, "y = self.net.scale(3)\n        return x, y * self.t")) == ()


FIT = "    def fit(self, x):\n        self.register_buffer('t', x.mean(0))\n"
NO_LATE_BUFFER = {
    "registered from the start": ("self.register_buffer('t', None)", FIT),
    "registered in a branch": ("self.t = None\n        if n:\n            self.register_buffer('t', None)", FIT),
    "no attribute": ("self.u = None", FIT),
    "something that is no tensor": ("self.t = []", FIT),
    "deleted before": ("self.t = None", FIT.replace("self.reg", "del self.t\n        self.reg")),
    "deleted by name": ("self.t = None", FIT.replace("self.reg", "delattr(self, 't')\n        self.reg")),
    "asked for": ("self.t = None", FIT.replace("self.reg", "if not hasattr(self, 't'): self.reg")),
    "of another object": ("self.t = None", FIT.replace("self.reg", "x.reg")),
}


@pytest.mark.parametrize(("init", "more"), NO_LATE_BUFFER.values(), ids=NO_LATE_BUFFER)
def test_no_buffer_under_a_name_that_is_taken(rule, init: str, more: str) -> None:
    assert rule.findings(module(init, "return x", more)) == ()


def test_a_name_that_a_later_buffer_takes(rule) -> None:
    fixed = rule.unchanged_unless_unsafe(module("self.t = given  # or None", "return x - self.t", FIT))
    assert '        self.register_buffer("t", given)  # or None\n' in fixed
    fixed = rule.unchanged_unless_unsafe(
        module("self.t = None", "return x - self.t", FIT.replace("(0))", "(0), persistent=False)"))
    )
    assert 'self.register_buffer("t", None, persistent=False)' in fixed


LATE = {
    "by its word": ("'t', tensor=x.mean(0)", ""),
    "all by their words": ("tensor=x.mean(0), name='t'", ""),
    "not saved, by position": ("'t', x.mean(0), False", ", persistent=False"),
}


@pytest.mark.parametrize(("given", "saved"), LATE.values(), ids=LATE)
def test_a_buffer_is_registered_from_the_start_as_it_is_later(rule, given: str, saved: str) -> None:
    fit = f"    def fit(self, x):\n        self.register_buffer({given})\n"
    fixed = rule.unchanged_unless_unsafe(module("self.t = None", "return x - self.t", fit))
    assert f'self.register_buffer("t", None{saved})' in fixed


@pytest.mark.parametrize(
    ("given", "found"),
    [("t", True), ("t=None", True), ("t: torch.Tensor", True), ("t=(0.5, 0.5)", False), ("t: list[float]", False)],
)
def test_what_a_caller_gives_as_no_tensor_is_no_buffer_from_the_start(rule, given: str, found: bool) -> None:
    program = f"""
    import torch
    from torch import nn
    class Norm(nn.Module):
        def __init__(self, {given}):
            super().__init__()
            self.t = t
        def fit(self):
            self.register_buffer("t", torch.tensor(self.t))
    """
    assert bool(rule.findings(program)) is found


@pytest.mark.parametrize("given", ["'t', x.mean(0), **options", "'t', x.mean(0), persistent=given"])
def test_a_later_buffer_of_which_only_its_method_knows_whether_it_is_saved(rule, given: str) -> None:
    fit = f"    def fit(self, x, given, **options):\n        self.register_buffer({given})\n"
    (finding,) = rule.findings(module("self.t = None", "return x - self.t", fit))
    assert finding.fix is None
    assert finding.advice == "Register `t` as a buffer from the start."


GROWN = """
    import torch
    class Picker:
        def __init__(self, score{given}):
            self.score = score
            self.seen = {first}
        def see(self, outputs: torch.Tensor, targets: torch.Tensor):
            scores = self.score(outputs, targets).detach()
            {line}
"""
JOINED = "self.seen = torch.cat([self.seen, scores - scores.mean()]).to(scores.dtype)"


@pytest.mark.parametrize(
    ("given", "first", "line"),
    [
        ("", "torch.tensor([])", JOINED),
        (", device", "torch.tensor([], device=device)", JOINED),
        (", device", "torch.ones(3)", JOINED),
        (", device", "torch.tensor([])", "scores = scores.cpu(); " + JOINED),
        (", device", "torch.tensor([])", "both = torch.cat([self.seen, scores - scores.mean()])"),
    ],
)
def test_what_a_class_collects_on_the_host(rule, given: str, first: str, line: str) -> None:
    assert rule.findings(GROWN.format(given=given, first=first, line=line)) == ()


def test_a_module_of_lightning_moves_nothing_itself(rule) -> None:
    program = "import lightning as L\n" + module(
        "self.t = torch.zeros(3)", "return x + self.t", base="L.LightningModule"
    )
    assert 'self.register_buffer("t", torch.zeros(3), persistent=False)' in rule.unchanged_unless_unsafe(program)


def test_what_is_written_in_place_is_no_copy(rule) -> None:
    program = module("self.t = torch.zeros(3)", "self.t.add_(x)\n        return x")
    assert ".to(" not in "".join(str(one.fix) for one in rule.findings(program))


def test_a_class_with_a_device_makes_it_there(rule) -> None:
    program = """
        import torch
        class Agent:
            def __init__(self, device):
                self.device = device
                self.scale = torch.zeros(3)
            def act(self, x):
                return x.to(self.device) * self.scale
    """
    assert "torch.zeros(3, device=self.device)" in rule.fixed(program)


def test_an_item_of_a_list_is_moved(rule) -> None:
    program = module("self.ts = [torch.zeros(3), torch.ones(3)]", "return [x + one for one in self.ts]")
    assert "x + one.to(x.device)" in rule.unchanged_unless_unsafe(program)


def test_it_is_reported_where_it_meets_what_is_elsewhere(rule) -> None:
    finding = rule.finding(module("self.t = torch.ones(3)", "return x + self.t"))
    assert (finding.span.line, [one.span.line for one in finding.trail]) == (8, [6, 8, 7])


def test_what_is_computed_of_a_moved_use_is_not_moved_again(rule):
    program = """
        import torch
        from torch import nn
        class Hinge(nn.Module):
            def __init__(self, dims):
                super().__init__()
                self.signs = 2 * torch.eye(dims) - torch.ones([dims, dims])
            def forward(self, input, target):
                signs = self.signs[target.long()].transpose(0, 1)
                half = signs / 2
                return torch.sum((0.5 - half * input) ** 2)
    """
    text = rule.unchanged_unless_unsafe(program)
    assert 'self.register_buffer("signs", 2 * torch.eye(dims) - torch.ones([dims, dims]), persistent=False)' in text


def test_an_element_by_an_input_goes_with_the_whole(rule) -> None:
    program = module("self.t = torch.zeros(3)", "return self.t[x] * given")
    program = program.replace("x: torch.Tensor", "x: torch.Tensor, given: torch.Tensor")
    assert 'self.register_buffer("t", torch.zeros(3), persistent=False)' in rule.unchanged_unless_unsafe(program)


KINDS = """
    import torch
    from torch import nn
    class Positions(nn.Module):
        def __init__(self, n, split, mode=None):
            super().__init__()
            self.split = split
            self.mode = mode
            if {made}:
                self.t = torch.tensor([])
            else:
                self.t = nn.Parameter(torch.zeros(n))
        def forward(self, x):
            {used}
        {more}
"""

EXCLUDED = {
    "the other branch": ("self.split", "return x if self.split else x + self.t", ""),
    "the other branch, by the parameter": (
        "split",
        "if self.split:\n                return x\n            return x + self.t",
        "",
    ),
    "the other branch, in the negative": ("not split", "return x + self.t if self.split else x", ""),
    "one of two conditions": ("split and n > 3", "return x if self.split else x + self.t", ""),
    "a constant": ("mode == 'a'", "if self.mode != 'a':\n                x = x + self.t\n            return x", ""),
    "none": (
        "self.mode is None",
        "if self.mode is not None and len(x):\n                x = x + self.t\n            return x",
        "",
    ),
}


@pytest.mark.parametrize(("made", "used", "more"), EXCLUDED.values(), ids=EXCLUDED)
def test_conditions_that_exclude_each_other(rule, made: str, used: str, more: str) -> None:
    assert rule.findings(KINDS.format(made=made, used=used, more=more)) == ()


MEETING = {
    "the same branch": ("self.split", "return x + self.t if self.split else x", ""),
    "any": ("self.split", "return x + self.t", ""),
    "another attribute": ("self.split", "return x if self.mode else x + self.t", ""),
    "another constant": ("mode == 'a'", "return x + self.t if self.mode != 'b' else x", ""),
}


@pytest.mark.parametrize(("made", "used", "more"), MEETING.values(), ids=MEETING)
def test_conditions_that_do_not(rule, made: str, used: str, more: str) -> None:
    fixed = rule.unchanged_unless_unsafe(KINDS.format(made=made, used=used, more=more))
    assert 'self.register_buffer("t", torch.tensor([]), persistent=False)' in fixed


def test_a_parameter_that_is_said_to_be_a_number_is_not_moved(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Means(nn.Module):
            def blend(self, mean{said}, x: torch.Tensor):
                return mean - x.mean(0)
            def fit(self, x: torch.Tensor):
                self.mean = torch.zeros(x.shape[1])
                self.mean[:] = self.blend(self.mean, x)
                return self
    """
    assert "mean.to(" not in str(rule.findings(program.replace("{said}", ": float")))


LEARNT = """
import torch
from torch import Tensor, nn
class Swish(nn.Module):
    def __init__(self, slope=1.0, learnable=False):
        super().__init__()
        {branches}
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.sigmoid(self.slope * x)
"""
BRANCHES = """if learnable:
            self.slope = nn.Parameter(Tensor([slope]))
        else:
            {plain}"""


def test_what_may_be_a_parameter_becomes_a_buffer_where_it_is_none(rule) -> None:
    before = LEARNT.format(branches=BRANCHES.format(plain="self.slope = Tensor([slope])"))
    buffer = 'self.register_buffer("slope", Tensor([slope]), persistent=False)'
    assert rule.unchanged_unless_unsafe(before) == LEARNT.format(branches=BRANCHES.format(plain=buffer))


def test_what_is_made_a_parameter_later_is_no_buffer_before(rule) -> None:
    later = "self.slope = Tensor([slope])\n        if learnable:\n            self.slope = nn.Parameter(self.slope)"
    assert "register_buffer" not in "".join(str(one.fix) for one in rule.findings(LEARNT.format(branches=later)))


OF_ELSEWHERE = """
    import torch
    from torch import nn
    from library import Gate
    class Sigmoid(Gate):
        def __init__(self, t, learn=False):
            super().__init__()
            if learn:
                self.t = {learnt}
            else:
                self.t = torch.Tensor([t])
        def forward(self, x: torch.Tensor):
            return torch.sigmoid(x * self.t) - self.t * x / (x + self.t) - x * self.t
"""


def test_parameters_tell_a_module_of_another_file(rule) -> None:
    fixed = rule.unchanged_unless_unsafe(OF_ELSEWHERE.format(learnt="nn.Parameter(torch.Tensor([t]))"))
    assert 'self.register_buffer("t", torch.Tensor([t]), persistent=False)' in fixed
    for other in ("read(t)", "nn.MSELoss()"):
        assert not any(rule.safeties(OF_ELSEWHERE.format(learnt=other)))


OPTIONAL = (
    "m = None\n        if n:\n            m = torch.zeros(3) > 0\n        self.t = m\n        self.a = nn.Linear(3, 3)"
)


def test_what_may_be_none_is_not_moved_on_its_way_to_a_module(rule) -> None:
    assert not any(rule.safeties(module(OPTIONAL, "return self.a(x.view(3), self.t)")))


def test_an_attribute_that_a_constructor_sets_once_more_is_no_parameter(rule) -> None:
    program = """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        class Trainer:
            def __init__(self, model, counts=None):
                self.model = model.to(device)
                self.counts = counts
                if counts is None:
                    self.counts = 3
                    self.mask = torch.ones(4)
                else:
                    self.mask = torch.ones(4, device=device)
            def step(self, x):
                x = self.model(x.to(device))
                if self.counts is not None:
                    x = x * self.mask
                return x
    """
    assert rule.fixed(program).count("torch.ones(4, device=device)") == 2


ALIGNED = """
import torch
from torch import nn
from torchvision.ops import RoIAlign
class Net(nn.Module):
    def __init__(self, size):
        super().__init__()
        self._pool = nn.AvgPool3d((3, 1, 1))
        self._align = RoIAlign(size, 1.0, 1)
        self._head = nn.Linear(3, 3)
    def forward(self, x, boxes):
        boxes = self.convert(boxes)
        x = self._pool(x)[:, :, 0]
        x = self._align(x, boxes)
        x = x.view(3, -1)
        loss = self._head(x).sum()
        loss.backward()
"""


def test_operators_of_torchvision_are_modules() -> None:
    outcome = check(Source("train.py", ALIGNED.encode()), Options(frozenset({CODE}), suggestions=True))
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()


PARAMETERS = """
    import torch
    from torch import nn
    class Pool(nn.Module):
        def __init__(self):
            super().__init__()
            self.weighting = {made}
        def forward(self, x):
            return x.mean(0) * self.weighting
"""


@pytest.mark.parametrize(
    "made", ["nn.Parameter(torch.ones(3))", "nn.Parameter(torch.ones(3) / 2, requires_grad=True).float()"]
)
def test_a_parameter_is_none(rule, made: str) -> None:
    assert rule.findings(PARAMETERS.format(made=made)) == ()


@pytest.mark.parametrize("made", ["torch.ones(3)", "torch.ones(3).float()", "torch.ones(3) / 2"])
def test_a_tensor_is(rule, made: str) -> None:
    assert rule.findings(PARAMETERS.format(made=made)) != ()
