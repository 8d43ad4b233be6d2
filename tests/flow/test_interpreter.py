"""What the interpreter sees: which values meet where."""

import ast

import pytest
from devfix_codemods.flow import machine
from devfix_codemods.flow.places import HOST, Device, Symbol, choice

HEAD = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"

# In each program, `meet` is the host tensor `a` and the device tensor `b` in one operation.
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
    "a branch that leaves": (
        "def f(c):\n    a = torch.zeros(3)\n    if c:\n        a = a.cuda()\n        return a\n"
        "    return a * a.cuda()\n"
    ),
    "with": "with torch.no_grad():\n    a = torch.zeros(3)\n    b = a.cuda()\na * b\n",
    "try": "try:\n    a = torch.zeros(3)\nfinally:\n    pass\nb = torch.ones(3).cuda()\na * b\n",
    "a loop": "for i in range(3):\n    a = torch.zeros(3)\n    b = a.cuda()\n    a * b\n",
    "a comprehension": "b = torch.ones(3).cuda()\n[torch.zeros(3) * b for i in range(3)]\n",
    "an item": "d = {'a': torch.zeros(3), 'b': torch.ones(3).cuda()}\nd['a'] * d['b']\n",
    "a list item": "d = [torch.zeros(3), torch.ones(3).cuda()]\nd[0] * d[1]\n",
    "a stored item": "d = {}\nd['a'] = torch.zeros(3)\nb = d['a'].cuda()\nd['a'] * b\n",
    "an attribute": "o.a = torch.zeros(3)\no.b = o.a.cuda()\no.a * o.b\n",
    "self": (
        "class A:\n    def __init__(self):\n        self.a = torch.zeros(3)\n"
        "    def f(self):\n        return self.a * torch.ones(3, device='cuda')\n"
    ),
    "self, set in another method": (
        "class A:\n    def g(self):\n        self.a = torch.zeros(3)\n"
        "    def f(self):\n        return self.a * torch.ones(3, device='cuda')\n"
    ),
    "a helper's result": "def f():\n    return torch.zeros(3)\nf() * torch.ones(3).cuda()\n",
    "a helper's argument": "def f(a):\n    return a * torch.ones(3).cuda()\nf(torch.zeros(3))\n",
    "a helper's keyword": "def f(*, a=None):\n    return a * torch.ones(3).cuda()\nf(a=torch.zeros(3))\n",
    "a helper that moves": "def move(a):\n    return a.cuda()\na = torch.zeros(3)\nmove(a) * a\n",
    "a method's result": (
        "class A:\n  def f(self):\n    return torch.zeros(3)\n  def g(self):\n    return self.f() * self.f().cuda()\n"
    ),
    "a lambda": "f = lambda a: a.cuda()\na = torch.zeros(3)\nf(a) * a\n",
    "through three helpers": (
        "def f(a):\n    return g(a)\ndef g(a):\n    return h(a)\ndef h(a):\n    return a.cuda()\n"
        "a = torch.zeros(3)\nf(a) * a\n"
    ),
    "a repeated list": "a = torch.tensor([n] * k)\na * a.cuda()\n",
    "a slice of an array": "import numpy as np\na = torch.tensor(np.quantile(x, q)[1:-1])\na * a.cuda()\n",
    "joined lists": "a = torch.tensor(xs + [0])\na * a.cuda()\n",
    "from numpy": "a = torch.from_numpy(n)\na * a.cuda()\n",
    "derived on the host": "a = torch.zeros(3).float().view(-1).t()\na * a.cuda()\n",
    "like": "b = torch.ones(3)\na = torch.zeros_like(b)\na * b.cuda()\n",
    "back on the host": "b = torch.ones(3).cuda()\na = b.cpu()\na * b\n",
}


@pytest.mark.parametrize("program", MEET.values(), ids=MEET)
def test_a_host_and_a_device_tensor_meet(facts, program: str) -> None:
    assert facts(HEAD + program).meetings


# In each program, no host tensor surely meets a device tensor.
SILENT = {
    "both on the host": "a = torch.zeros(3)\nb = torch.ones(3)\na * b\n",
    "both moved": "a = torch.zeros(3).cuda()\nb = torch.ones(3).cuda()\na * b\n",
    "a number": "a = torch.zeros(3).cuda()\na * 2 + 1.0\n",
    "a 0-dim tensor": "a = torch.zeros(3).cuda()\na * torch.tensor(2.0)\n",
    "what may be one": "a = torch.zeros(3).cuda()\na * torch.tensor(n * k)\n",
    "what an array of numpy may be": "import numpy as np\na = torch.tensor(np.quantile(x, q))\na * a.cuda()\n",
    "a slice of what may be on a device": "a = torch.ones(3).cuda()\nb = torch.as_tensor(f(a)[1:])\na * b\n",
    "what may be one in a sum of products": "a = torch.zeros(3, 3).cuda()\na @ a + torch.tensor(f(k))\n",
    "a size": "a = torch.zeros(3)\nb = a.cuda()\nb * a.size(0) + a.shape[0]\n",
    "an item of one": "a = torch.zeros(3)\nb = a.cuda()\nb * a.sum().item()\n",
    "one branch": "a = torch.zeros(3)\nif c:\n    a = a.cuda()\na * torch.ones(3).cuda()\n",
    "try": "a = torch.zeros(3)\ntry:\n    a = a.cuda()\nexcept E:\n    pass\na * torch.ones(3).cuda()\n",
    "a loop that may not run": "a = torch.zeros(3)\nfor i in xs:\n    a = a.cuda()\na * torch.ones(3).cuda()\n",
    "a conditional expression": "a = torch.zeros(3)\na = a.cuda() if c else a\na * torch.ones(3).cuda()\n",
    "one case": "a = torch.zeros(3)\nmatch c:\n    case 1:\n        a = a.cuda()\na * torch.ones(3).cuda()\n",
    "rebound by something unknown": "a = torch.zeros(3)\na = f(a)\na * torch.ones(3).cuda()\n",
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
    "starred": "a, *b = xs\na * b[0].cuda()\n",
    "deleted": "a = torch.zeros(3)\ndel a\na * torch.ones(3).cuda()\n",
    "imported": "a = torch.zeros(3)\nfrom x import a\na * torch.ones(3).cuda()\n",
    "another scope": "def f():\n    a = torch.zeros(3)\ndef g(a):\n    return a * torch.ones(3).cuda()\n",
    "too deep to follow": (
        "def f(a, n):\n    return a if n == 0 else f(a, n - 1)\nf(torch.zeros(3), 9) * torch.ones(3).cuda()\n"
    ),
    "a parameter": "def f(a, b):\n    return a * b.cuda()\n",
    "shadowed torch": "def f(torch):\n    return torch.zeros(3) * torch.ones(3).cuda()\n",
    "unreachable": "a = torch.zeros(3)\nif False:\n    a * a.cuda()\n",
    "after a return": "def f():\n    a = torch.zeros(3)\n    return a\n    a * a.cuda()\n",
    "after an exit": "import sys\na = torch.zeros(3)\nsys.exit()\na * a.cuda()\n",
    "the branch without an accelerator": (
        "device = 'cuda' if torch.cuda.is_available() else 'cpu'\na = torch.zeros(3).to(device)\n"
        "b = torch.zeros(3, device=device)\na * b\n"
    ),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_nothing_certain_meets(facts, program: str) -> None:
    assert facts(HEAD + program).meetings == []


TARGETS = {
    "cuda": ("x.cuda()", Device("cuda")),
    "cuda with an index": ("x.cuda(1)", Device("cuda:1")),
    "a string": ("x.to('mps')", Device("mps")),
    "a keyword": ("x.to(device='cuda:0')", Device("cuda:0")),
    "a device": ("x.to(torch.device('cuda'))", Device("cuda")),
    "a device with an index": ("x.to(torch.device('cuda', 1))", Device("cuda:1")),
    "the host": ("x.cpu()", HOST),
    "the host by a string": ("x.to('cpu')", HOST),
    "the accelerator": (
        "x.to(torch.accelerator.current_accelerator())",
        Symbol("torch.accelerator#accelerator", chosen=True),
    ),
    "either": ("x.to('cuda' if torch.cuda.is_available() else 'cpu')", choice(HOST, Device("cuda"))),
    "a device and a dtype": ("x.to('cuda', torch.float16)", Device("cuda")),
}


@pytest.mark.parametrize(("call", "place"), TARGETS.values(), ids=TARGETS)
def test_where_a_move_goes(facts, call: str, place) -> None:
    (move,) = facts(f"{HEAD}x = torch.zeros(3)\ny = {call}\n").moves
    assert move.target == place
    assert move.result_used


STAYS = ["x.to(torch.float16)", "x.to(dtype=torch.float16)", "x.to()", "x.to(y.dtype)", "x.to(settings.int_dtype())"]


@pytest.mark.parametrize("call", STAYS)
def test_what_moves_nothing(facts, call: str) -> None:
    assert facts(f"{HEAD}x = torch.zeros(3)\n{call}\n").moves == []


def test_a_name_that_says_device_is_one(facts) -> None:
    (move,) = facts(f"{HEAD}def f(x, args):\n    x.to(args.device)\n").moves
    assert isinstance(move.target, Symbol)
    assert move.target.chosen
    assert not move.result_used


def test_the_device_names_of_a_meeting(facts) -> None:
    program = """
        import torch
        device = torch.device("cuda")
        def f():
            other = torch.device("cuda")
            return torch.zeros(3) * torch.ones(3, device=device)
        f()
    """
    meeting = facts(program).meetings[0]
    assert {"device", "other"} <= {one.text for one in meeting.devices}


def test_an_operation_is_told_once(facts) -> None:
    program = f"{HEAD}a = torch.zeros(3)\nb = a.cuda()\nfor i in range(3):\n    for j in range(3):\n        a * b\n"
    assert len(facts(program).meetings) == 1


def test_the_anchor_is_what_the_program_moved(facts) -> None:
    (meeting,) = facts(f"{HEAD}a = torch.zeros(3)\nb = torch.ones(3).cuda()\na * b\n").meetings
    assert ast.unparse(meeting.misplaced.node) == "a"
    assert ast.unparse(meeting.anchor.node) == "b"
    assert meeting.moved is not None
    assert ast.unparse(meeting.moved.node) == "torch.ones(3).cuda()"


@pytest.mark.parametrize(
    "program",
    [
        "class A(Base):\n    def f(self):\n        self.x.to('cuda')\n",
        "import lightning as L\nclass A(L.LightningModule):\n    def f(self):\n        self.x.to('cuda')\n",
    ],
)
def test_who_places_values(facts, program: str) -> None:
    (move,) = facts(HEAD + program).moves
    assert move.context.managed is ("lightning" in program)


@pytest.mark.parametrize(
    "program",
    [
        "def collate_fn(x):\n    return x.to('cuda')\n",
        "class A(torch.utils.data.Dataset):\n    def __getitem__(self, i):\n        return self.x[i].to('cuda')\n",
        "class A:\n  def __len__(self):\n    return 1\n  def __getitem__(self, i):\n    return self.x[i].cuda()\n",
    ],
)
def test_what_runs_in_a_worker(facts, program: str) -> None:
    (move,) = facts(HEAD + program).moves
    assert move.context.worker


@pytest.mark.parametrize(
    "program",
    [
        "def f(a):\n    return f(a)\nf(1)\n",
        "def f(a):\n    return g(a)\ndef g(a):\n    return f(a)\nf(1)\n",
        "class A:\n    def f(self):\n        return self.f()\nA().f()\n",
        "class A(A): pass\nA()\n",
        "class A(B): pass\nclass B(A): pass\nA().f()\n",
        "x = []\nx.append(x)\nd = {}\nd['d'] = d\n",
        "f = lambda x: f(x)\nf(1)\n",
        "class A(nn.Module):\n    def __init__(self):\n        self.a = self\n        self.a.a.to('cuda')\nA()\n",
    ],
)
def test_what_refers_to_itself_ends(facts, program: str) -> None:
    assert facts(HEAD + program).incomplete is None


def test_a_file_that_is_too_large_ends_and_says_so(facts, monkeypatch: pytest.MonkeyPatch) -> None:
    program = HEAD + "x = torch.zeros(3)\n" + "x = x.cuda()\n" * 200
    assert facts(program).incomplete is None
    monkeypatch.setattr(machine, "STEPS", 300)
    found = facts(program)
    assert found.incomplete is not None
    assert found.moves
