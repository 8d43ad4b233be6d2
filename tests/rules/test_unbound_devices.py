"""DVF104: devices under a name that nothing binds."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF104"
HEAD = "import torch\nfrom torch import Tensor, nn\n"

SILENT = {
    "a parameter": "def f(n, device):\n    return torch.zeros(n, device=device)\n",
    "of the function around": (
        "def f(device):\n    def g(n):\n        return torch.zeros(n, device=device)\n    return g\n"
    ),
    "of the module, below": "def f(n):\n    return torch.zeros(n, device=device)\ndevice = torch.device('cuda')\n",
    "of the module, set by a function": (
        "def f(n):\n    return torch.zeros(n, device=device)\n"
        "def start(name):\n    global device\n    device = torch.device(name)\n"
    ),
    "imported": "from settings import device\ndef f(n):\n    return torch.zeros(n, device=device)\n",
    "of a comprehension": "def f(n):\n    return [torch.zeros(n, device=device) for device in range(2)]\n",
    "imported with all others": "from settings import *\ndef f(n):\n    return torch.zeros(n, device=device)\n",
    "put there by hand": "globals().update(load())\ndef f(n):\n    return torch.zeros(n, device=device)\n",
    "at the top level": "x = torch.zeros(3, device=device)\n",
    "another name": "def f(x, n):\n    return torch.zeros(n, device=place)\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_what_is_bound_somewhere(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


REPAIRED = {
    "a tensor, by its annotation": (
        "def f(ids: Tensor, n):\n    y = torch.full((n,), 0, device=device)\n    return y + ids.to(device)\n",
        "def f(ids: Tensor, n):\n    y = torch.full((n,), 0, device=ids.device)\n    return y + ids.to(ids.device)\n",
    ),
    "a tensor, by its shape": (
        "def f(n, ids):\n    return torch.zeros(ids.shape[0], n, device=device)\n",
        "def f(n, ids):\n    return torch.zeros(ids.shape[0], n, device=ids.device)\n",
    ),
    "a tensor that is asked elsewhere": (
        (
            "def f(mask, ids):\n    a = torch.ones(mask.shape, device=ids.device)\n"
            "    return a, torch.zeros(3, device=device)\n"
        ),
        (
            "def f(mask, ids):\n    a = torch.ones(mask.shape, device=ids.device)\n"
            "    return a, torch.zeros(3, device=ids.device)\n"
        ),
    ),
    "what the object keeps": (
        (
            "class A(nn.Module):\n    def __init__(self, device):\n        super().__init__()\n"
            "        self.device = device\n    def forward(self, n):\n        return torch.zeros(n, device=device)\n"
        ),
        (
            "class A(nn.Module):\n    def __init__(self, device):\n        super().__init__()\n"
            "        self.device = device\n    def forward(self, n):\n"
            "        return torch.zeros(n, device=self.device)\n"
        ),
    ),
}


@pytest.mark.parametrize(("before", "after"), REPAIRED.values(), ids=REPAIRED)
def test_a_device_at_hand_is_named_instead(rule, before: str, after: str) -> None:
    assert rule.unchanged_unless_unsafe(HEAD + before) == HEAD + after


def test_a_name_of_the_class_is_none_of_its_methods(rule) -> None:
    finding = rule.finding(
        HEAD + "class A:\n    device = 'cuda'\n    def f(self, n):\n        return torch.zeros(n, device=device)\n"
    )
    assert "NameError: name 'device' is not defined" in finding.message


def test_it_is_told_where_nothing_is_at_hand(rule) -> None:
    finding = rule.finding(HEAD + "def f(n):\n    return torch.zeros(n, device=device)\n")
    assert finding.fix is None or finding.fix.safety is Safety.MANUAL
    assert finding.advice == "name the device of a tensor at hand, or take `device` as a parameter"


def test_an_array_has_no_device(rule) -> None:
    program = "def f(ids):\n    return torch.zeros(ids.shape[0], device=device)\n"
    assert rule.finding("import numpy\n" + HEAD + program).advice is not None
