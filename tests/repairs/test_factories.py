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
    "of the tensor at hand, where only a caller knows the device": (
        (
            "def near(x):\n    return x.unsqueeze(0) @ torch.eye(3)\n"
            "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
            "print(near(torch.ones(3).to(device)))\n"
        ),
        "return x.unsqueeze(0) @ torch.eye(3, device=x.device)",
    ),
    "where alone it meets a tensor that may be missing": (
        (
            "def near(n, x: torch.Tensor = None):\n"
            "    z = torch.ones(n)\n    if x is not None:\n        z = z * x\n    return z\n"
        ),
        "z = z.to(x.device) * x",
    ),
    "where it is joined with one that is read later": (
        (
            "def rows(sample):\n    labels = torch.full((8,), -100)\n"
            "    audio = sample['audio'].long()\n    return torch.cat([labels, audio])\n"
        ),
        "return torch.cat([labels.to(audio.device), audio])",
    ),
    "behind a legacy constructor, which takes none": (
        "def row(x: torch.Tensor):\n    return torch.Tensor([1.0], device=x.device)\n",
        "return torch.Tensor([1.0]).to(x.device)",
    ),
}
LEFT = {
    "of what a test says is no tensor": (
        "def packed(zeros):\n    if torch.is_tensor(zeros):\n        return zeros\n"
        "    zeros -= 1\n    return (zeros << torch.arange(10)).sum()\n"
    ),
    "for the first turn of a loop, in which it is replaced": (
        "def joined(model, rows: torch.Tensor):\n    kept, first = torch.zeros(1), True\n    while True:\n"
        "        one = model(rows)\n        if first:\n            kept, first = one, False\n"
        "        else:\n            kept = torch.cat([kept, one])\n        if len(kept) > 9:\n            return kept\n"
    ),
    "for factors of a product of whole numbers": (
        "def counted(x: torch.Tensor):\n    ones = torch.ones(4, 4, dtype=torch.int64)\n"
        "    return (ones @ ones).sum(), x + ones\n"
    ),
    "of what may be a number as well": ("def later(step: float | torch.Tensor):\n    return torch.arange(9) > step\n"),
    "for a constructor with a comment, which the edit would lose": (
        "def row(x: torch.Tensor):\n    return torch.Tensor(\n        3,  # one\n        device=x.device\n    )\n"
    ),
    "for lengths, by the name of their argument": (
        "class Voice(nn.Module):\n    def decode(self, wave: torch.Tensor, tokens: torch.Tensor):\n"
        "        return self.pitch(wave[None], feats_lengths=torch.LongTensor([len(tokens)]))\n"
    ),
    "for a number of a loss": (
        "def total(criterion, rows):\n    total = torch.tensor(0.0)\n"
        "    for one in rows:\n        total += criterion(one).loss.item()\n    return total\n"
    ),
    "for objects that are moved as a whole": (
        "class Block(nn.Module):\n    def __init__(self, n, device=None):\n        super().__init__()\n"
        "        self.mix = nn.Linear(n, n, device=device)\n"
        "class Net(nn.Module):\n    def __init__(self, device=None):\n        super().__init__()\n"
        "        self.a, self.b, self.c = Block(3, device=device), Block(3, device=device), Block(3)\n"
        "        self.to(device)\n"
    ),
    "of a list": "def near(x: list[torch.Tensor]):\n    return torch.cat(x) @ torch.eye(3)\n",
    "of what may be a list": (
        "from typing import List, Optional\n"
        "def near(x: Optional[List[torch.Tensor]]):\n    return torch.cat(x) @ torch.eye(3)\n"
    ),
    "of a tensor that is made there as well": "def far(n):\n    x = torch.ones(n)\n    return x @ torch.eye(3)\n",
}
CHOSEN = {
    "of the layer that gets it": (
        (
            "class Net(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n"
            "        self.embed = nn.Embedding(n, 4)\n"
            "    def bias(self, n: int):\n        return self.embed(torch.arange(n) * 2)\n"
        ),
        "return self.embed(torch.arange(n, device=self.embed.weight.device) * 2)",
    ),
    "of a part of what the module gets": (
        (
            "class Net(nn.Module):\n    def __init__(self, net):\n        super().__init__()\n        self.net = net\n"
            "    def forward(self, batch):\n        x = batch['x']\n        z = torch.randn((x.size(0), 10))\n"
            "        return self.net(z), x\n"
        ),
        "z = torch.randn((x.size(0), 10), device=x.device)",
    ),
    "of its addends, in a new sum each time": (
        (
            "def total(criterion, rows):\n    total = torch.tensor(0.0)\n"
            "    for one in rows:\n        total += criterion(one).loss\n    return total\n"
        ),
        "total = total + criterion(one).loss",
    ),
    "that its neighbours are given": (
        (
            "class Block(nn.Module):\n    def __init__(self, n, device=None):\n        super().__init__()\n"
            "        self.mix = nn.Linear(n, n, device=device)\n"
            "class Net(nn.Sequential):\n    def __init__(self, device=None):\n"
            "        super().__init__(Block(3, device=device), Block(4), Block(5, device=device))\n"
        ),
        "super().__init__(Block(3, device=device), Block(4, device=device), Block(5, device=device))",
    ),
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


MASKED = """
    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = nn.Transformer(8, 1)
        def forward(self, x, y):
            mask = {mask}
            return self.transformer(x, y, tgt_mask=mask)
"""


@pytest.mark.parametrize("given", ["(len(y)).to(x.device)", "(len(y), device=x.device)", "(len(y), x.device)"])
def test_a_causal_mask_that_is_on_the_device(repairs, given: str) -> None:
    mask = f"self.transformer.generate_square_subsequent_mask{given}"
    assert repairs.added(MASKED.format(mask=mask)) == []


@pytest.mark.parametrize("owner", ["self.transformer", "nn.Transformer"])
def test_a_causal_mask_is_made_on_the_device(repairs, owner: str) -> None:
    mask = f"{owner}.generate_square_subsequent_mask(len(y){{}})"
    assert repairs.added(MASKED.format(mask=mask.format(""))) == [f"mask = {mask.format(', device=x.device')}"]
