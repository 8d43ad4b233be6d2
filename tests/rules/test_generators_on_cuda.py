"""DVF501: generators that are made on CUDA, where a device has been chosen."""

import pytest

CODE = "DVF501"
HEAD = "import torch\n"

SILENT = {
    "no device is known": "def f(seed):\n    return torch.Generator('cuda').manual_seed(seed)\n",
    "another card": "def f(seed, device):\n    return torch.Generator('cuda:1').manual_seed(seed)\n",
    "of the host": "def f(seed, device):\n    return torch.Generator('cpu').manual_seed(seed)\n",
    "that of the host": "def f(seed, device):\n    return torch.Generator().manual_seed(seed)\n",
    "where CUDA is there": (
        "def f(seed, device):\n    if torch.cuda.is_available():\n        return torch.Generator('cuda')\n"
        "    return torch.Generator()\n"
    ),
    "somebody else's": "from numpy.random import Generator\ndef f(bits, device):\n    return Generator('cuda')\n",
    "another name for CUDA": (
        "class Noise:\n    device = 'cuda'\n    def draw(self):\n        return torch.Generator('cuda')\n"
    ),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


FOLLOWS = {
    "by keyword": ("torch.Generator(device='cuda')", "torch.Generator(device=device)"),
    "by position": ("torch.Generator('cuda')", "torch.Generator(device)"),
    "by an object": ("torch.Generator(torch.device('cuda:0'))", "torch.Generator(device)"),
}


@pytest.mark.parametrize(("made", "after"), FOLLOWS.values(), ids=FOLLOWS)
def test_is_made_for_the_device_at_hand(rule, made: str, after: str) -> None:
    program = (
        f"{HEAD}class Search:\n    def __init__(self, model, seed=0, device='cpu'):\n        self.device = device\n"
        f"        self.draws = {made}.manual_seed(seed)\n"
    )
    assert f"self.draws = {after}.manual_seed(seed)" in rule.unchanged_unless_unsafe(program)


DRAWS = {
    "of a function": (
        "def noise(size, device):\n    draws = torch.Generator('cuda')\n"
        "    return torch.randn(size, generator=draws, device='cuda')\n"
    ),
    "of a script": (
        "from torch import nn\nmodel = nn.Linear(3, 3).cuda()\ndraws = torch.Generator('cuda')\n"
        "for x in torch.zeros(4, 3):\n    model(x.cuda() + torch.randn(3, generator=draws, device='cuda'))\n"
    ),
}


@pytest.mark.parametrize("program", DRAWS.values(), ids=DRAWS)
def test_goes_with_the_numbers_that_it_draws(rule, program: str) -> None:
    after = rule.unchanged_unless_unsafe(HEAD + program)
    assert "torch.Generator(device)" in after
    assert "generator=draws, device=device" in after
