"""Operations by themselves: which host values meet a device in them, and which do not."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

HEAD = "import numpy as np\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"


def codes(program: str) -> set[str]:
    """What is found, but for devices that are spelled out."""
    select = frozenset(one.code for one in all_rules() if not one.code.startswith("DVF5"))
    outcome = check(Source("train.py", (HEAD + program).encode()), Options(select, unsafe=True))
    assert isinstance(outcome, Checked), outcome
    return {one.code for one in outcome.findings}


MEET = {
    "a factor of a matrix product": "a = torch.zeros(3, 3).cuda()\na @ torch.tensor(f(k)).T\n",
    "a factor of a function for them": "a = torch.zeros(3, 3).cuda()\ntorch.mm(a, torch.tensor(f(k)))\n",
    "a factor of a method for them": "a = torch.zeros(3, 3).cuda()\na.matmul(torch.tensor(f(k)))\n",
    "assignment": "a = torch.zeros(3)\nb = torch.ones(3).cuda()\na * b\n",
    "unpacking": "a, b = torch.zeros(3), torch.ones(3).cuda()\na * b\n",
    "nested unpacking": "(a, (b, c)) = torch.zeros(3), (torch.ones(3).cuda(), 1)\na * b\n",
    "chained assignment": "a = c = torch.zeros(3)\nb = torch.ones(3).cuda()\nc * b\n",
    "annotated": "a: torch.Tensor = torch.zeros(3)\nb = a.cuda()\na * b\n",
    "walrus": "b = (a := torch.zeros(3)).cuda()\na * b\n",
    "in place": "a = torch.zeros(3)\nb = a.cuda()\na *= b\n",
    "a method": "a = torch.zeros(3)\nb = a.cuda()\na.mul(b)\n",
    "a function": "a = torch.zeros(3)\nb = a.cuda()\ntorch.add(a, b)\n",
    "a sequence": "a = torch.zeros(3)\nb = a.cuda()\ntorch.cat([a, b])\n",
    "a sequence by name": "a = torch.zeros(3)\nb = a.cuda()\ntorch.stack(tensors=(a, b))\n",
    "a loss": "a = torch.zeros(3)\nb = a.cuda()\nF.mse_loss(b, a)\n",
    "a comparison": "a = torch.zeros(3)\nb = a.cuda()\na == b\n",
    "both branches the same": "if c:\n    a = torch.zeros(3)\nelse:\n    a = torch.ones(3)\nb = a.cuda()\na * b\n",
    "with": "with torch.no_grad():\n    a = torch.zeros(3)\n    b = a.cuda()\na * b\n",
    "try": "try:\n    a = torch.zeros(3)\nfinally:\n    pass\nb = torch.ones(3).cuda()\na * b\n",
    "a loop": "for i in range(3):\n    a = torch.zeros(3)\n    b = a.cuda()\n    a * b\n",
    "a comprehension": "b = torch.ones(3).cuda()\n[torch.zeros(3) * b for i in range(3)]\n",
    "an item": "d = {'a': torch.zeros(3), 'b': torch.ones(3).cuda()}\nd['a'] * d['b']\n",
    "a list item": "d = [torch.zeros(3), torch.ones(3).cuda()]\nd[0] * d[1]\n",
    "a stored item": "d = {}\nd['a'] = torch.zeros(3)\nb = d['a'].cuda()\nd['a'] * b\n",
    "an attribute": "o.a = torch.zeros(3)\no.b = o.a.cuda()\no.a * o.b\n",
    "self": "class A:\n    def __init__(self):\n        self.a = torch.zeros(3)\n"
    "    def f(self):\n        return self.a * torch.ones(3, device='cuda')\n",
    "self, set in another method": "class A:\n    def g(self):\n        self.a = torch.zeros(3)\n"
    "    def f(self):\n        return self.a * torch.ones(3, device='cuda')\n",
    "a helper's result": "def f():\n    return torch.zeros(3)\nf() * torch.ones(3).cuda()\n",
    "a helper's argument": "def f(a):\n    return a * torch.ones(3).cuda()\nf(torch.zeros(3))\n",
    "a helper's keyword": "def f(*, a=None):\n    return a * torch.ones(3).cuda()\nf(a=torch.zeros(3))\n",
    "a helper that moves": "def move(a):\n    return a.cuda()\na = torch.zeros(3)\nmove(a) * a\n",
    "a lambda": "f = lambda a: a.cuda()\na = torch.zeros(3)\nf(a) * a\n",
    "through three helpers": "def f(a):\n    return g(a)\ndef g(a):\n    return h(a)\ndef h(a):\n    return a.cuda()\n"
    "a = torch.zeros(3)\nf(a) * a\n",
    "a repeated list": "a = torch.tensor([n] * k)\na * a.cuda()\n",
    "a slice of an array": "import numpy as np\na = torch.tensor(np.quantile(x, q)[1:-1])\na * a.cuda()\n",
    "joined lists": "a = torch.tensor(xs + [0])\na * a.cuda()\n",
    "from numpy": "a = torch.from_numpy(n)\na * a.cuda()\n",
    "derived on the host": "a = torch.zeros(3).float().view(-1).t()\na * a.cuda()\n",
    "a turn of a loop over rows": "b = torch.ones(3).cuda()\nfor a in torch.zeros(5, 3):\n    b > a\n",
    "like": "b = torch.ones(3)\na = torch.zeros_like(b)\na * b.cuda()\n",
    "a recursion": (
        "def f(a, n):\n    return a if n == 0 else f(a, n - 1)\nf(torch.zeros(3), 9) * torch.ones(3).cuda()\n"
    ),
}
APART = {
    "both on the host": "a = torch.zeros(3)\nb = torch.ones(3)\na * b\n",
    "both moved": "a = torch.zeros(3).cuda()\nb = torch.ones(3).cuda()\na * b\n",
    "a number": "a = torch.zeros(3).cuda()\na * 2 + 1.0\n",
    "a 0-dim tensor": "a = torch.zeros(3).cuda()\na * torch.tensor(2.0)\n",
    "a size": "a = torch.zeros(3)\nb = a.cuda()\nb * a.size(0) + a.shape[0]\n",
    "an item of one": "a = torch.zeros(3)\nb = a.cuda()\nb * a.sum().item()\n",
    "one branch": "a = torch.zeros(3)\nif c:\n    a = a.cuda()\na * torch.ones(3).cuda()\n",
    "a conditional expression": "a = torch.zeros(3)\na = a.cuda() if c else a\na * torch.ones(3).cuda()\n",
    "a copy across": "a = torch.zeros(3)\nb = torch.ones(3).cuda()\na.copy_(b)\n",
    "an index of the host": "b = torch.ones(3).cuda()\ni = torch.arange(3)\nb[i]\n",
    "device= of the other": "b = torch.ones(3).cuda()\na = torch.zeros(3, device=b.device)\na * b\n",
    "like the other": "b = torch.ones(3).cuda()\ntorch.zeros_like(b) * b\n",
    "new_zeros": "b = torch.ones(3).cuda()\nb.new_zeros(3) * b\n",
    "a default device": "torch.set_default_device('cuda')\ntorch.zeros(3) * torch.ones(3).cuda()\n",
    "with a device": "with torch.device('cuda'):\n    a = torch.zeros(3)\na * torch.ones(3).cuda()\n",
    "dtype only": "a = torch.zeros(3).to(torch.float16)\nb = torch.ones(3)\na * b\n",
    "a list that is grown": "xs = []\nxs.append(torch.zeros(3))\nxs.append(torch.ones(3).cuda())\nxs[0] * xs[1]\n",
    "a dictionary with unknown keys": "d = {}\nd[k] = torch.zeros(3)\nd[j] = torch.ones(3).cuda()\nd[k] * d[j]\n",
    "a turn of a loop over a row": "b = torch.ones(3).cuda()\nfor a in torch.linspace(0, 1, 5):\n    b > a\n",
    "a turn of a counted one": "b = torch.ones(3).cuda()\nfor i, a in enumerate(torch.arange(5)):\n    a + b\n",
    "starred": "a, *b = xs\na * b[0].cuda()\n",
    "deleted": "a = torch.zeros(3)\ndel a\na * torch.ones(3).cuda()\n",
    "imported": "a = torch.zeros(3)\nfrom x import a\na * torch.ones(3).cuda()\n",
    "another scope": "def f():\n    a = torch.zeros(3)\ndef g(a):\n    return a * torch.ones(3).cuda()\n",
    "a parameter": "def f(a, b):\n    return a * b.cuda()\n",
    "shadowed torch": "def f(torch):\n    return torch.zeros(3) * torch.ones(3).cuda()\n",
    "after a return": "def f():\n    a = torch.zeros(3)\n    return a\n    a * a.cuda()\n",
    "after an exit": "import sys\na = torch.zeros(3)\nsys.exit()\na * a.cuda()\n",
    "the branch without an accelerator": (
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\na = torch.zeros(3).to(device)\n"
        "b = torch.zeros(3, device=device)\na * b\n"
    ),
}


@pytest.mark.parametrize("program", MEET.values(), ids=MEET)
def test_a_host_and_a_device_tensor_meet(program: str) -> None:
    assert codes(program)


@pytest.mark.parametrize("program", APART.values(), ids=APART)
def test_nothing_meets(program: str) -> None:
    assert not codes(program)


def module(init: str, forward: str) -> str:
    return (
        f"class A(nn.Module):\n    def __init__(self, given):\n        super().__init__()\n        {init}\n"
        f"    def forward(self, x, h=None):\n        {forward}\n"
    )


WITH_MODULE = {
    "a parameter": ("self.w = nn.Parameter(torch.zeros(3))", "return x * self.w"),
    "a row of a parameter": ("self.w = nn.Parameter(torch.zeros(3))", "return x * self.w[0] + self.w.data"),
    "a buffer": ("self.register_buffer('b', torch.zeros(3))", "return x * self.b"),
    "a buffer, set anew": ("self.register_buffer('b', None)\n        self.b = torch.zeros(3)", "return x * self.b"),
    "a parameter by name": ("self.register_parameter('p', nn.Parameter(torch.zeros(3)))", "return x * self.p"),
    "a number": ("self.b = torch.tensor(2.0)", "return x * self.b"),
    "a parameter of a part": ("self.p = nn.Linear(3, 3)", "return x * self.p.weight"),
    "a given state": ("self.p = nn.LSTM(3, 3)", "return self.p(x, h)"),
    "a state that is made where x is": (
        "self.p = nn.LSTM(3, 3)",
        "if h is None:\n            h = torch.zeros(3, device=x.device)\n        return self.p(x, h)",
    ),
}
BESIDE_MODULE = {
    "a plain tensor": ("self.b = torch.zeros(3)", "return x * self.b", "DVF203"),
    "what a part gives": ("self.p, self.b = nn.Linear(3, 3), torch.zeros(3)", "return self.p(x) * self.b", "DVF203"),
    "what a given part gives": (
        "self.p = given\n        self.b = torch.zeros(3)",
        "self.p.train()\n        return self.p(x) * self.b",
        "DVF203",
    ),
    "an omitted state": (
        "self.p = nn.LSTM(3, 3)",
        "if h is None:\n            h = torch.zeros(3)\n        return self.p(x, h)",
        "DVF107",
    ),
    "an omitted state, the other way round": (
        "self.p = nn.LSTM(3, 3)",
        (
            "if h is not None:\n            h = 2 * h\n        else:\n            h = torch.zeros(3)\n"
            "        return self.p(x, h)"
        ),
        "DVF107",
    ),
    "an omitted state in an expression": (
        "self.p = nn.LSTM(3, 3)",
        "h = torch.zeros(3) if h is None else h\n        return self.p(x, h)",
        "DVF107",
    ),
    "an empty cache": (
        "self.c = None",
        (
            "if self.c is None or self.c.size(0) < x.size(0):\n            self.c = torch.arange(3)\n"
            "        return x + self.c"
        ),
        "DVF104",
    ),
}


@pytest.mark.parametrize(("init", "forward"), WITH_MODULE.values(), ids=WITH_MODULE)
def test_what_lives_with_its_module(init: str, forward: str) -> None:
    assert not codes(module(init, forward))


@pytest.mark.parametrize(("init", "forward", "code"), BESIDE_MODULE.values(), ids=BESIDE_MODULE)
def test_what_meets_the_module(init: str, forward: str, code: str) -> None:
    assert codes(module(init, forward)) == {code}


FOLLOWING = [
    "torch.index_select(x, dim=0, index=other)",
    "torch.masked_select(input=x, mask=other)",
    "torch.add(x, other=other)",
    "torch.scatter(x, 0, torch.zeros_like(x).long(), src=other)",
]
BESIDE = [
    "torch.add(x, other=torch.tensor(2))",
    "torch.index_select(x, dim=0, index=torch.ones(3, device=x.device))",
    "torch.sum(x, dim=0)",
    "torch.gather(x, dim=n, index=x)",
    "x * torch.ones(3).to(x) + torch.tensor(0.5) + torch.arange(3).type_as(x)",
    "x @ torch.full((n,), 2.0, device=torch.zeros(n).to(x.device).device)",
]


@pytest.mark.parametrize("call", FOLLOWING)
def test_tensors_given_by_keyword_meet(call: str) -> None:
    assert codes(f"def f(x: torch.Tensor, n):\n    other = torch.ones(3)\n    return {call}\n") == {"DVF104"}


@pytest.mark.parametrize("call", BESIDE)
def test_numbers_and_what_is_beside_a_tensor_do_not(call: str) -> None:
    assert not codes(f"def f(x: torch.Tensor, n):\n    return {call}\n")


READ = "import matplotlib.pyplot as plt\nfigure = plt.figure()\nx = torch.zeros(3, device='cuda')\n"


@pytest.mark.parametrize(
    "reading", ["x.numpy()", "np.median(x)", "np.mean([1.0, x])", "plt.imshow(x)", "figure.axes[0].plot(x)"]
)
def test_what_is_read_on_the_host(reading: str) -> None:
    assert codes(READ + reading) == {"DVF402"}


@pytest.mark.parametrize(
    "reading",
    [
        "np.median(torch.zeros(3))",
        "np.median(x.cpu())",
        "np.mean([len(x)])",
        "np.mean(x)",
        "x.shape",
        "torch.median(x)",
    ],
)
def test_what_is_not(reading: str) -> None:
    assert not codes(READ + reading)


WAVES = """
def waves(n, generator):
    grid = torch.arange(n, dtype=torch.float32) / n
    total = torch.zeros_like(grid)
    for k in {numbers}:
        height = torch.randn((), generator=generator) / k ** 1.5
        total = total + height * torch.sin(k * grid)
    return total
"""


@pytest.mark.parametrize("numbers", ["range(1, 3)", "reversed(range(3))", "list(range(2))"])
def test_a_range_yields_numbers(numbers: str) -> None:
    assert not codes(WAVES.format(numbers=numbers))


CHOSEN = """
def f(x: torch.Tensor, flag):
    total = torch.zeros(3)
    if flag:
        y = x.float()
    else:
        y = x.double()
    total += y
    return total
"""


def test_a_choice_is_told_by_what_it_may_be() -> None:
    outcome = check(Source("train.py", (HEAD + CHOSEN).encode()), Options(frozenset({"DVF104"}), unsafe=True))
    assert isinstance(outcome, Checked)
    (found,) = outcome.findings
    assert "meets `x.float()`" in found.message
