"""DVF204: parameters in plain containers."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF204"

PROGRAM = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, n, device=None):
        super().__init__()
        self.n = n
        {made}

    def forward(self, x):
        {used}
        return x
"""
LIST = "self.ws = [nn.Parameter(torch.randn(4, 4)) for _ in range(n)]"
LOOP = "for w in self.ws:\n            x = x @ w"


def program(made: str = LIST, used: str = LOOP) -> str:
    return PROGRAM.format(made=made, used=used)


SILENT = {
    "a list that is registered": program(
        "self.ws = nn.ParameterList([nn.Parameter(torch.zeros(4)) for _ in range(n)])"
    ),
    "registered one by one": program(
        "self.ws = []\n        for i in range(n):\n            w = nn.Parameter(torch.randn(4, 4))\n"
        "            self.register_parameter(str(i), w)\n            self.ws.append(w)"
    ),
    "made on a device by the class": program(
        "self.ws = [nn.Parameter(torch.randn(4, 4, device=device)) for _ in range(n)]"
    ),
    "moved by the class": program("self.ws = [nn.Parameter(torch.randn(4, 4).to(device)) for _ in range(n)]"),
    "given to what wants a list of tensors": program(used="x = x @ torch.stack(self.ws).sum(0)"),
    "given to the optimizer": program(
        LIST + "\n        self.optimizer = torch.optim.SGD(self.ws, 0.1)\n        self.optimizer.zero_grad()"
    ),
    "methods that a ParameterList has not": program(LIST + "\n        self.ws.reverse()"),
    "something else among them": program("self.ws = [nn.Parameter(torch.randn(4, 4)), nn.Linear(4, 4)]"),
    "lists of lists": program("self.ws = [[nn.Parameter(torch.randn(4, 4)) for _ in range(n)] for _ in range(n)]"),
    "keys that are numbers": program("self.ws = {i: nn.Parameter(torch.randn(4, 4)) for i in range(n)}", "x = x"),
    "buffers that have no shape yet": program("self.ws = [nn.UninitializedBuffer() for _ in range(n)]"),
    "buffers": program("self.ws = [nn.Buffer(torch.randn(4, 4)) for _ in range(n)]"),
    "no module": program().replace("nn.Module", "object"),
}
FOUND = {
    "a comprehension": (LIST, LOOP, "nn.ParameterList([nn.Parameter(torch.randn(4, 4)) for _ in range(n)])"),
    "a display": (
        "self.ws = [nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.eye(4))]",
        "x = x @ self.ws[0] @ self.ws[1]",
        "nn.ParameterList([nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.eye(4))])",
    ),
    "a tuple": (
        "self.ws = (nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.eye(4)))",
        LOOP,
        "nn.ParameterList((nn.Parameter(torch.randn(4, 4)), nn.Parameter(torch.eye(4))))",
    ),
    "one after the other": (
        "self.ws = []\n        for _ in range(n):\n            self.ws.append(nn.Parameter(torch.randn(4, 4)))",
        LOOP,
        "self.ws = nn.ParameterList()",
    ),
    "a mapping": (
        "self.ws = {'a': nn.Parameter(torch.randn(4, 4)), 'b': nn.Parameter(torch.eye(4))}",
        "for name, w in self.ws.items():\n            x = x @ w",
        "nn.ParameterDict({'a': nn.Parameter(torch.randn(4, 4)), 'b': nn.Parameter(torch.eye(4))})",
    ),
    "a comprehension of a mapping": (
        "self.ws = {str(i): nn.Parameter(torch.randn(4, 4)) for i in range(n)}",
        "for i in range(self.n):\n            x = x @ self.ws[str(i)]",
        "nn.ParameterDict({str(i): nn.Parameter(torch.randn(4, 4)) for i in range(n)})",
    ),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, text: str) -> None:
    assert rule.findings(text) == ()


@pytest.mark.parametrize(("made", "used", "wanted"), FOUND.values(), ids=FOUND.keys())
def test_found(rule, made: str, used: str, wanted: str) -> None:
    text = program(made, used)
    assert rule.safeties(text) == [Safety.UNSAFE]
    assert wanted in rule.fixed(text, unsafe=True)
    assert rule.finding(text).message.startswith("`self.ws` keeps parameters in a plain container")


@pytest.mark.parametrize("parameter", ["nn.UninitializedParameter", "nn.parameter.UninitializedParameter"])
def test_parameters_without_a_shape_are_no_modules(rule, parameter: str) -> None:
    made = f"self.ws = [{parameter}() for _ in range(n)]"
    assert f"self.ws = nn.ParameterList([{parameter}() for _ in range(n)])" in rule.fixed(program(made), unsafe=True)
