"""Which device factories are given where they make a tensor on the host that belongs elsewhere."""

import pytest
from devfix_codemods.findings import Safety

SAFE = {
    "of the tensor that it meets": (
        "def near(x: torch.Tensor):\n    return x @ torch.eye(3)\n",
        "return x @ torch.eye(3, device=x.device)",
    ),
    "by the local name of that device": (
        "def near(x: torch.Tensor):\n    device = x.device\n    return x @ torch.eye(3)\n",
        "return x @ torch.eye(3, device=device)",
    ),
    "of what a function of the file is given beside it": (
        "def near(x, rows):\n    return x * rows\ndef run(x: torch.Tensor):\n    return near(x, torch.ones(3))\n",
        "return near(x, torch.ones(3, device=x.device))",
    ),
    "of another one than a device that may be missing": (
        "def near(x: torch.Tensor, device=None):\n    return x @ torch.eye(3)\n",
        "return x @ torch.eye(3, device=x.device)",
    ),
    "behind a legacy constructor, which takes none": (
        "def row(x: torch.Tensor):\n    return torch.Tensor([1.0], device=x.device)\n",
        "return torch.Tensor([1.0]).to(x.device)",
    ),
}
LEFT = {
    "of a list": "def near(x: list[torch.Tensor]):\n    return torch.cat(x) @ torch.eye(3)\n",
    "of what may be a list": (
        "from typing import List, Optional\n"
        "def near(x: Optional[List[torch.Tensor]]):\n    return torch.cat(x) @ torch.eye(3)\n"
    ),
    "of a tensor that is made there as well": "def far(n):\n    x = torch.ones(n)\n    return x @ torch.eye(3)\n",
}
CHOSEN = {
    "in a method, where forward gives it its input": (
        (
            "class Cell(nn.Module):\n"
            "    def state(self, x, h):\n"
            "        if h is None:\n"
            "            h = torch.zeros(x.shape[0], 3)\n"
            "        return h\n"
            "    def forward(self, x: torch.Tensor, h: torch.Tensor = None):\n"
            "        return torch.relu(x) * self.state(x, h)\n"
        ),
        "h = torch.zeros(x.shape[0], 3, device=x.device)",
    ),
    "for a collective": (
        (
            "import torch.distributed as dist\n"
            "def mean(value):\n"
            "    total = torch.tensor([value, 1.0])\n"
            "    dist.all_reduce(total)\n"
            "    return total[0] / total[1]\n"
        ),
        'total = torch.tensor([value, 1.0], device="cuda" if torch.cuda.is_available() else "cpu")',
    ),
    "of a model, by its name outside of its class": (
        (
            "class Net(nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.out = nn.Linear(3, 3)\n"
            "    def decode(self, z):\n"
            "        return self.out(z)\n"
            "net = Net()\n"
            "if torch.cuda.is_available():\n"
            "    net.cuda()\n"
            "image = net.decode(torch.randn(4, 3))\n"
        ),
        "image = net.decode(torch.randn(4, 3, device=next(net.parameters()).device))",
    ),
}


@pytest.mark.parametrize(("program", "line"), SAFE.values(), ids=SAFE)
def test_the_device(repairs, program: str, line: str) -> None:
    assert repairs.added(program, Safety.SAFE) == [line]


@pytest.mark.parametrize(("program", "line"), CHOSEN.values(), ids=CHOSEN)
def test_a_device_that_is_a_choice(repairs, program: str, line: str) -> None:
    assert line in repairs.added(program, Safety.UNSAFE)


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT)
def test_no_device_is_asked(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []
