"""DVF203: what is made once, where the first input is."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF203"

PROGRAM = """
import torch
from torch import nn


class Mask(nn.Module):
    def __init__(self):
        super().__init__()
        self.mask = {init}

    def forward(self, x: torch.Tensor, given=None):
        if {test}:
            {body}
        {use}
{more}
"""
PARTS = {
    "init": "None",
    "test": "self.mask is None",
    "body": "self.mask = torch.ones(x.shape[-1], device=x.device).tril()",
    "use": "return x * self.mask",
    "more": "",
}
SILENT = {
    "it is asked where it is": {"test": "self.mask is None or self.mask.device != x.device"},
    "it is asked where it is, in another way": {"test": "self.mask is None or given.device != x.device"},
    "it is moved where it is used": {"use": "return x * self.mask.to(x.device)", "body": "self.mask = torch.ones(3)"},
    "it starts as something": {"init": "torch.zeros(1)"},
    "another method sets it": {"more": "    def set(self, mask):\n        self.mask = mask"},
    "it is changed in place": {"use": "self.mask[0] = 1"},
    "it is added to": {"use": "self.mask += 1"},
    "a method changes a part of it": {"use": "self.mask[: x.shape[-1]].copy_(x)"},
    "a method changes it": {"use": "self.mask.add_(x)"},
    "it is carried along": {
        "more": "    def _apply(self, fn):\n        self.mask = fn(self.mask)\n        return super()._apply(fn)"
    },
    "it is drawn": {"body": "self.mask = torch.rand(x.shape[-1], device=x.device)"},
    "it may be where nothing is": {"body": "self.mask = torch.ones(3, device=given.device)"},
    "it is no tensor": {"body": "self.mask = nn.Linear(3, 3).to(x.device)", "use": "return self.mask(x)"},
    "another condition": {"test": "self.mask is None and given"},
    "it is only made": {"use": "return x"},
    "a branch for the rest": {"use": "else:\n            x = x + 1\n        return x * self.mask"},
    "its owner sets it": {"more": "def set(one, mask):\n    one.mask = mask"},
    "a buffer": {"more": "    def keep(self):\n        self.register_buffer('mask', None)"},
}


@pytest.mark.parametrize("parts", SILENT.values(), ids=SILENT)
def test_it_is_where_it_has_to_be(rule, parts) -> None:
    findings = rule.findings(PROGRAM.format(**{**PARTS, **parts}))
    assert not [one for one in findings if "of the first" in one.message]


@pytest.mark.parametrize(
    "test", ["self.mask is None", "not hasattr(self, 'mask')", "self.mask is None or self.mask.shape[-1] < x.shape[-1]"]
)
def test_made_again_for_an_input_elsewhere(rule, test) -> None:
    program = PROGRAM.format(**{**PARTS, "test": test})
    assert rule.safeties(program) == [Safety.SAFE]
    assert f"if {test} or self.mask.device != x.device:" in rule.fixed(program)


def test_made_like_the_first_input(rule) -> None:
    program = PROGRAM.format(**{**PARTS, "body": "self.mask = torch.eye(x.shape[-1]).type_as(x)"})
    assert "if self.mask is None or self.mask.device != x.device:" in rule.fixed(program)


def test_made_by_a_method(rule) -> None:
    made = {
        "body": "self.mask = self.make(x.shape[-1]).to(x.device)",
        "use": "return x * self.mask.unsqueeze(0)",
        "more": "    def make(self, n):\n        return torch.ones(n, n).tril()",
    }
    assert "or self.mask.device != x.device:" in rule.fixed(PROGRAM.format(**{**PARTS, **made}))
