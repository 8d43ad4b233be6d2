"""DVF203: attributes on the host that one branch takes, where another makes a tensor on a device."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF203"


def program(made: str, *lines: str) -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return (
        "import torch\nfrom torch import nn\nfrom sky import Scene, colour\nclass A(Scene):\n"
        f"    def build(self, options):\n        {made}\n    def sky(self, x, fresh):\n{body}"
    )


CHOICE = ("if fresh:", "    c = torch.rand(3, device=self.device)", "else:", "    c = self.c", "return c")
MADE = "self.c = torch.tensor([0.1, 0.2, 0.3])"
SILENT = {
    "not made on the host": ("self.c = options.c", CHOICE),
    "made on the device": ("self.c = torch.zeros(3, device=self.device)", CHOICE),
    "moved by the class": (f"{MADE}\n        self.c = self.c.to(self.device)", CHOICE),
    "a buffer": (f"{MADE}\n        self.register_buffer('c', torch.zeros(3))", CHOICE),
    "nothing at first": (f"self.c = None\n        {MADE}", CHOICE),
    "a condition about the place": (MADE, ("if self.device.type == 'cuda':", *CHOICE[1:])),
    "moved below": (MADE, (*CHOICE[:-1], "return c.to(self.device)")),
    "on two devices": (
        MADE,
        ("if x:", "    c = torch.ones(3, device=x.device)", f"el{CHOICE[0]}", *CHOICE[1:]),
    ),
    "made on the host beside it": (MADE, ("if fresh:", "    c = torch.rand(3)", "else:", "    c = self.c", "return c")),
    "no device of this place": (
        MADE,
        (
            "if fresh:",
            "    place = x.device",
            "    c = torch.ones(3, device=place)",
            "else:",
            "    c = self.c",
            "return c",
        ),
    ),
    "something else beside it": (MADE, ("if x:", "    c = colour(x)", f"el{CHOICE[0]}", *CHOICE[1:])),
}


@pytest.mark.parametrize(("made", "lines"), SILENT.values(), ids=SILENT)
def test_what_says_nothing(rule, made: str, lines: tuple[str, ...]) -> None:
    assert rule.findings(program(made, *lines)) == ()


FOUND = {
    "in two branches": (CHOICE, "c = self.c.to(self.device)"),
    "in one expression": (
        ("return self.c if fresh else torch.ones_like(x, device=x.device)",),
        "return self.c.to(x.device) if fresh else",
    ),
    "among many": (
        (
            "if x == 'white':",
            "    c = torch.ones(3, device=self.device)",
            "elif x == 'any':",
            "    if fresh:",
            "        c = torch.rand(3, device=self.device)",
            "    else:",
            "        c = self.c",
            "else:",
            "    raise ValueError",
            "return c",
        ),
        "c = self.c.to(self.device)",
    ),
}


@pytest.mark.parametrize(("lines", "after"), FOUND.values(), ids=FOUND)
def test_it_goes_to_the_device_of_the_other_branch(rule, lines: tuple[str, ...], after: str) -> None:
    before = program(MADE, *lines)
    assert rule.safeties(before) == [Safety.SAFE]
    assert after in rule.fixed(before)


def test_what_may_be_no_tensor_is_a_choice(rule) -> None:
    made = f"if options.c:\n            self.c = colour(options.c)\n        else:\n            {MADE}"
    assert "c = self.c.to(self.device)" in rule.unchanged_unless_unsafe(program(made, *CHOICE))


def test_a_condition_that_asks_for_it(rule) -> None:
    lines = ("if self.c is None:", *CHOICE[1:])
    assert "c = self.c.to(self.device)" in rule.fixed(program(f"self.c = None\n        {MADE}", *lines))
