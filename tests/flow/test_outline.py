"""Where syntax alone says that no tensor of a factory can be misplaced, and where it cannot say so."""

import ast

import pytest
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.outline import Outline

HEAD = "import torch\nfrom torch import nn\nclass A(nn.Module):\n    def __init__(self, x):\n        "

OPEN = {
    "an attribute": "self.x = torch.zeros(3)",
    "a name that is registered later": "t = torch.zeros(3)\n        self.register_buffer('x', t)",
    "a reshaped attribute": "self.x = torch.arange(9).view(3, 3)",
    "one of two": "self.x = nn.Buffer(torch.zeros(3))\n        self.y = torch.zeros(3)",
    "what another tensor is met by on the way": "self.x = nn.Buffer(torch.ones(3).mul(x))",
    "what something else is made of": "self.x = nn.Buffer(f(torch.ones(3)))",
    "the tensor into which is copied": "torch.zeros(3).copy_(x)",
    "an argument of a function of that name": "copy_(x, torch.zeros(3))",
    "an attribute of a reshaped one": "self.x = nn.Buffer(torch.zeros(3).view.__self__)",
    "a comparison": "self.x = nn.Buffer(torch.arange(3) < x)",
    "an element": "self.x = nn.Buffer(torch.eye(3)[x])",
}
CARRIED = {
    "a parameter": "self.x = nn.Parameter(torch.zeros(3))",
    "a scaled parameter": "self.x = nn.Parameter(-torch.randn(3) * 0.02)",
    "a filled parameter": "self.x = nn.Parameter(torch.Tensor(3).uniform_())",
    "a buffer": "self.x = nn.Buffer(torch.arange(9).float().view(3, 3), persistent=False)",
    "a registered buffer": "self.register_buffer('x', torch.zeros(3).unsqueeze(0))",
    "what is copied into a tensor": "self.x.copy_(torch.arange(3))",
    "a device of its own": "self.x = torch.zeros(3, device=x.device)",
}


def makes_tensors(statement: str) -> bool:
    return Outline(Names(ast.parse(HEAD + statement))).makes_tensors


@pytest.mark.parametrize("statement", OPEN.values(), ids=OPEN)
def test_a_tensor_that_may_stay_on_the_host_counts(statement: str) -> None:
    assert makes_tensors(statement)


@pytest.mark.parametrize("statement", CARRIED.values(), ids=CARRIED)
def test_what_a_module_carries_along_at_once_does_not(statement: str) -> None:
    assert not makes_tensors(statement)
