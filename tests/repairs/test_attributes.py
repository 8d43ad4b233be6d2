"""Attributes that keep tensors: registered as buffers, or moved where they are used."""

import pytest
from devfix_codemods.findings import Safety

from tests.repairs.conftest import Repairs

MODULE = """
class A(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        {init}
    def forward(self, x: torch.Tensor):
        {forward}
"""


def module(init: str, forward: str = "return x + self.t", more: str = "") -> str:
    return MODULE.format(init=init, forward=forward) + more


@pytest.mark.parametrize(
    ("init", "buffer"),
    [
        ("self.t = torch.arange(n)", "torch.arange(n)"),
        ("self.t = torch.arange(n).unsqueeze(0)", "torch.arange(n).unsqueeze(0)"),
        ("self.t: torch.Tensor = torch.zeros(n, dtype=torch.long)", "torch.zeros(n, dtype=torch.long)"),
    ],
)
def test_whole_numbers_become_a_buffer(repairs: Repairs, init: str, buffer: str) -> None:
    assert repairs.added(module(init), Safety.SAFE) == [f'self.register_buffer("t", {buffer}, persistent=False)']


@pytest.mark.parametrize("value", ["torch.zeros(3)", "torch.arange(n) / 2", "table(n)", "torch.tensor([1.0, 2.0])"])
def test_other_numbers_become_one_by_choice(repairs: Repairs, value: str) -> None:
    program = module(f"self.t = {value}", more="def table(n):\n    return torch.zeros(n).cos() * torch.ones(n)\n")
    assert repairs.written(program) == program.removeprefix("\n")
    assert repairs.added(program, Safety.UNSAFE) == [f'self.register_buffer("t", {value}, persistent=False)']


def test_a_value_with_another_name_becomes_one_where_it_is_kept(repairs: Repairs) -> None:
    program = module("t = torch.zeros(3) + torch.ones(3)\n        self.t = t")
    assert repairs.added(program, Safety.UNSAFE) == ['self.register_buffer("t", t, persistent=False)']


@pytest.mark.parametrize(
    "init",
    [
        "self.t = None\n        self.t = torch.arange(3)",
        "self.t = self.u = torch.arange(3)",
        "self.t = torch.ones(3, requires_grad=True)",
    ],
)
def test_what_cannot_be_registered_is_moved_at_its_use(repairs: Repairs, init: str) -> None:
    assert repairs.added(module(init), Safety.SAFE) == ["return x + self.t.to(x.device)"]


def test_each_use_is_moved(repairs: Repairs) -> None:
    program = module("self.t = self.u = torch.zeros(3)", "y = self.layer(x)\n        return x * self.t, self.t[:2] - y")
    assert repairs.added(program, Safety.SAFE) == ["return x * self.t.to(x.device), self.t[:2].to(y.device) - y"]


NUMBERS = {
    "a factor": "return self.t * k + self.layer(x)",
    "behind a name": "s = k / 10\n        return self.layer(x) + self.t * s",
    "of a schedule": "s = schedule(k)\n        return self.layer(x) + self.t * s",
    "of a table": "s = k['scale']\n        return self.layer(x) + self.t * s",
    "a bound": "return self.layer(x).clamp(k, self.t)",
}


@pytest.mark.parametrize("forward", NUMBERS.values(), ids=NUMBERS)
def test_what_may_be_a_number_tells_no_device(repairs: Repairs, forward: str) -> None:
    program = module("self.t = self.u = torch.zeros(3)", forward).replace("x: torch.Tensor", "x: torch.Tensor, k")
    (line,) = repairs.added(program, Safety.SAFE)
    assert "self.t.to(x.device)" in line


@pytest.mark.parametrize("forward", ["s = k / 10\n        return self.t * s", "return self.layer(self.t + 0.1 * k)"])
def test_where_only_a_number_may_tell_it_the_move_is_a_choice(repairs: Repairs, forward: str) -> None:
    program = module("self.t = self.u = torch.zeros(3)", forward).replace("x: torch.Tensor", "k")
    assert repairs.written(program) == program.removeprefix("\n")
    assert repairs.added(program, Safety.UNSAFE)


OPTIONAL = {
    "under a test": "self.t = None\n        if n:\n            self.t = torch.zeros(3)",
    "in a branch": "if n:\n            self.t = torch.zeros(3)\n        else:\n            self.t = None",
}
LINEAR = "return nn.functional.linear(x, self.layer.weight, self.t)"


@pytest.mark.parametrize("init", OPTIONAL.values(), ids=OPTIONAL)
def test_what_may_be_none_stays_so_for_a_call(repairs: Repairs, init: str) -> None:
    program = module(init, LINEAR)
    moved = LINEAR.replace("self.t", "self.t.to(x.device) if self.t is not None else None")
    assert repairs.added(program, Safety.SAFE) == [moved]


def test_a_choice_of_none_stays_one(repairs: Repairs) -> None:
    program = module(
        "self.t = self.u = torch.zeros(3)", f"b = self.t if n else None\n        {LINEAR.replace('self.t', 'b')}"
    )
    moved = LINEAR.replace("self.t", "b.to(x.device) if b is not None else None")
    assert repairs.added(program, Safety.SAFE) == [moved]


@pytest.mark.parametrize(
    ("init", "test"),
    [
        ("self.t = None\n        self.t = torch.zeros(3)", ""),
        ("self.t = None\n        if n:\n            self.t = torch.zeros(3)", "assert self.t is not None\n        "),
    ],
)
def test_what_is_surely_there_is_moved_without_a_test(repairs: Repairs, init: str, test: str) -> None:
    program = module(init, test + LINEAR)
    assert repairs.added(program, Safety.SAFE) == [LINEAR.replace("self.t", "self.t.to(x.device)")]


@pytest.mark.parametrize("host", ["self.t > 0", "self.t[:3] == 0", "self.t == self.t.max()"])
def test_what_is_computed_on_the_host_is_moved_where_it_meets_others(repairs: Repairs, host: str) -> None:
    program = module("self.t = self.u = torch.zeros(3)", f"return torch.where({host}, x, -x)")
    assert f"return torch.where(({host}).to(x.device), x, -x)" in repairs.added(program, Safety.SAFE)


ANYTHING = {
    "a number": "self.t = 1.0",
    "what a caller gives": "self.t = scale",
    "what a caller may leave out": "self.t = other",
}


@pytest.mark.parametrize("init", ANYTHING.values(), ids=ANYTHING)
def test_what_may_be_a_number_is_no_buffer_and_has_no_device(repairs: Repairs, init: str) -> None:
    init = f"{init}\n        if isinstance(n, float):\n            self.t = torch.tensor([n, 1 - n])"
    program = module(init, "return self.layer(x) * self.t").replace("self, n", "self, n, scale, other=None")
    assert repairs.written(program, Safety.UNSAFE) == program.removeprefix("\n")


@pytest.mark.parametrize(
    ("forward", "moved"),
    [
        ("return x + self.t.expand(3)", "return x + self.t.expand(3).to(x.device)"),
        ("if torch.is_tensor(self.t):\n            x = x * self.t\n        return x", "x = x * self.t.to(x.device)"),
        (
            "return nn.functional.cross_entropy(x, x, weight=self.t)",
            "return nn.functional.cross_entropy(x, x, weight=self.t.to(x.device) if self.t is not None else None)",
        ),
    ],
    ids=["a method of tensors", "a test", "a function that wants tensors"],
)
def test_where_it_is_surely_no_number_it_is_moved(repairs: Repairs, forward: str, moved: str) -> None:
    init = "self.t = t\n        if isinstance(t, float):\n            self.t = torch.tensor([t, 1 - t])"
    program = module(init, forward).replace("self, n", "self, t=None")
    assert repairs.added(program, Safety.UNSAFE) == [moved]


def test_what_a_call_writes_to_is_not_copied(repairs: Repairs) -> None:
    program = module("self.t = self.u = torch.zeros(3)", "torch.add(x, 1, out=self.t)\n        return x + self.t")
    assert repairs.written(program, Safety.UNSAFE) == program.removeprefix("\n")


def test_a_row_that_a_call_unpacks_has_no_device(repairs: Repairs) -> None:
    program = module("self.t = self.u = torch.zeros(3)", "return torch.addcmul(x, *[self.t, x])")
    assert repairs.written(program, Safety.UNSAFE) == program.removeprefix("\n")


def test_what_stands_twice_in_a_row_is_moved_twice(repairs: Repairs) -> None:
    program = module("self.t = self.u = torch.zeros(3)", "return torch.cat([self.t, x, self.t])")
    assert repairs.added(program, Safety.SAFE) == ["return torch.cat([self.t.to(x.device), x, self.t.to(x.device)])"]


@pytest.mark.parametrize(
    "program",
    [
        module("self.t = torch.zeros(3)", "return x + self.t.to(x.device)"),
        module("self.register_empty_buffer('t')\n        self.t = torch.zeros(3)"),
        module("self.t = torch.zeros(3)", more="    def place(self, device):\n        self.t = self.t.to(device)\n"),
        module("self.t = torch.zeros(3)", more="    def ask(self, x):\n        return self.t.device == x.device\n"),
        module("self.t = torch.zeros(n)", "return x + self.t[0]"),
        module("self.t = torch.zeros(n)", "return x + self.layer(x)"),
    ],
    ids=["moved at its use", "registered", "moved by the class", "looked after", "an element", "never used"],
)
def test_what_needs_no_repair(repairs: Repairs, program: str) -> None:
    assert repairs.findings(program, suggestions=False) == ()


@pytest.mark.parametrize(
    ("init", "more", "link"),
    [
        ("self.register_buffer('u', torch.ones(n))\n        self.t = torch.zeros(n)", "", "alike-buffers"),
        (
            "self.t = torch.zeros(1)",
            "    def empty(self):\n        return torch.zeros(2, device=self.t.device)\n",
            "followed-attribute",
        ),
    ],
)
def test_what_belongs_with_its_module(repairs: Repairs, init: str, more: str, link: str) -> None:
    more += "    def reset(self):\n        self.t.zero_()\n"
    finding = repairs.finding(module(init, "return self.layer(x)", more))
    assert link in finding.links
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE


def test_a_parameter_and_the_attribute_that_keeps_it_are_one_condition(repairs: Repairs) -> None:
    branches = ("if n:", "    self.t = torch.zeros(3)", "else:", "    self.t = nn.Parameter(torch.zeros(3))")
    init = "\n        ".join(("self.n = n", *branches))
    assert repairs.findings(module(init, "return x if self.n else x + self.t")) == ()
    assert repairs.added(module(init, "return x + self.t if self.n else x"), Safety.UNSAFE) == [
        'self.register_buffer("t", torch.zeros(3), persistent=False)'
    ]


REGISTERED = """
class Attention(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.{register}("mask", {value})
    def scores(self, x):
        return x + {other} * self.mask
"""


@pytest.mark.parametrize("value", ["torch.ones(n).tril()", "torch.ones(n) / n"])
def test_what_meets_a_registered_buffer_is_made_where_it_is(repairs: Repairs, value: str) -> None:
    program = REGISTERED.format(register="register_buffer", value=value, other="torch.rand(3)")
    assert repairs.added(program, Safety.SAFE) == ["return x + torch.rand(3, device=self.mask.device) * self.mask"]


@pytest.mark.parametrize(
    ("register", "other"), [("register_buffer", "2"), ("register_buffer", "self.mask.sum()"), ("keep", "torch.rand(3)")]
)
def test_what_does_not_part_from_a_registered_buffer(repairs: Repairs, register: str, other: str) -> None:
    program = REGISTERED.format(register=register, value="torch.ones(n)", other=other)
    assert not any("mask.device" in one for one in repairs.added(program))


BESIDE_NORM = """
class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.zeros(n))
class Smoothed(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = Norm(n)
        self.before = {value}
    def forward(self, x):
        return x - self.before
"""


@pytest.mark.parametrize(("value", "told"), [("self.norm.mean.new_zeros(3)", False), ("torch.zeros(n) / n", True)])
def test_what_is_made_like_a_buffer_of_a_part(repairs: Repairs, value: str, told: bool) -> None:
    findings = repairs.findings(BESIDE_NORM.format(value=value), suggestions=False)
    assert [one.code for one in findings] == ["DVF203"] * told
