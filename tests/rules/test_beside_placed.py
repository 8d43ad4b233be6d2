"""DVF203: attributes on the host that one branch takes, where another makes a tensor on a device."""

import pytest

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
