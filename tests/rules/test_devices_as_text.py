"""DVF501: comparisons with a text that guard a move, and names for the type of a device that are given as devices."""

from textwrap import dedent

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF501"


@pytest.mark.parametrize(
    "lines",
    [
        "if str(coder.device) == 'cpu':\n    coder.to(place)",
        "if coder.device.type == 'cpu':\n    coder.to(place)",
        "if coder.device == 'cpu':\n    other.to(place)",
        "if coder.device == 'cpu':\n    print(coder)",
        "if self.device == 'cpu':\n    coder.to(place)",
        "if coder.device == place:\n    coder.to(place)",
        "if options.device == 'cpu':\n    coder = coder.to(options.device)",
        "if coder.device == 'disk':\n    coder.to(place)",
    ],
)
def test_comparisons_that_may_hold(rule, lines: str) -> None:
    body = lines.replace("\n", "\n        ")
    assert (
        rule.findings(f"import torch\nclass Job:\n    def run(self, coder, other, options, place):\n        {body}\n")
        == ()
    )


@pytest.mark.parametrize(
    ("lines", "device"),
    [
        ("if coder.device == 'cpu':\n        coder.to(place)", "coder.device"),
        (
            "if self.coder.device == 'cpu' and place is not None:\n        self.coder = self.coder.to(place)",
            "self.coder.device",
        ),
        ("xs = [x.to('cpu') if x.device != 'cpu' else x.clone() for x in xs]", "x.device"),
    ],
)
def test_the_guard_of_a_move(rule, lines: str, device: str) -> None:
    program = f"import torch\ndef run(self, coder, place, xs):\n    {lines}\n    return xs\n"
    assert rule.safeties(program) == [Safety.UNSAFE]
    assert rule.fixed(program, unsafe=True) == program.replace(device, f"str({device})", 1)


NAMED = """
    import torch

    def pad(x, size, wrap):
        device = {value}
        {use}
        return x
"""


@pytest.mark.parametrize(
    ("value", "use"),
    [
        ("x.device", "y = torch.zeros(size, device=device)"),
        ("x.device.type", "print(device)"),
        ("x.device.type", "y = torch.zeros(size, device=device) if device == 'cuda' else None"),
        ("x.device.type", "with torch.autocast(device_type=device):\n            y = wrap(x, device=device)"),
        ("x.device.type", "with torch.autocast(device):\n            y = x.to(device)"),
        ("x.device.type", "y = torch.zeros(size, device=device + ':0')"),
        ("x.device.type", "y = wrap(size, device)"),
    ],
)
def test_types_that_are_asked_for(rule, value: str, use: str) -> None:
    assert rule.findings(dedent(NAMED).format(value=value, use=use.replace("\n    ", "\n"))) == ()


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("y = torch.zeros(size, device=device)", "x.device"),
        ("y = torch.arange(3).to(device)", "x.device"),
        ("y = wrap(size, device=device)", "str(x.device)"),
    ],
)
def test_a_type_that_is_given_as_a_device(rule, use: str, expected: str) -> None:
    program = dedent(NAMED).format(value="x.device.type", use=use)
    assert rule.fixed(program, unsafe=True) == program.replace("x.device.type", expected)


def test_in_one_of_two_branches(rule) -> None:
    program = dedent("""
        import torch

        class Sampler:
            def sampler(self, net, kind):
                if net is None:
                    device = self._device
                else:
                    device = next(net.parameters()).device.type
                return kind(net, device=device)
    """)
    fixed = rule.fixed(program, unsafe=True)
    assert "device = str(next(net.parameters()).device)\n" in fixed


ASKED = """
import torch
def place(x, device={default}):
    if device == "cuda":
        x = x.half()
    return x.to(device)
{call}
"""


@pytest.mark.parametrize(
    ("default", "call", "told"),
    [
        ('torch.device("cuda")', "", True),
        ('torch.device("cuda")', "place(x)", True),
        ('torch.device("cuda")', 'place(x, "cuda")', False),
        ('"cuda"', "", False),
    ],
)
def test_a_parameter_that_is_a_device_by_default(rule, default: str, call: str, told: bool) -> None:
    found = rule.findings(ASKED.format(default=default, call=call))
    assert any("equals no string" in one.message for one in found) is told
