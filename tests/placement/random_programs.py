"""Programs in which branches and loops bind values of every kind anew, put together at random."""

import random

HEAD = """import numpy as np
import torch
import torch.nn.functional as F
from other import build
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self, n, k=2, dev="cpu", args=None, zs=(), loader=(), path=""):
        super().__init__()
        x = y = w = torch.zeros(3)
        xs, ls, net, head, ty, gen, dev2 = [], [], nn.Linear(3, 3), nn.Linear(3, 3), None, None, None
"""
BETWEEN = """        self.net, self.ls = net, ls

    def forward(self, x, y, n=1, k=2, zs=(), loader=(), dev=None, ty=None, gen=None, xs=(), ls=(), args=None):
        dev2 = "cuda"
        net, head, w, path = self.net, self.net, x, ""
"""
TAIL = """        return net(x)


def train(loader, n, k, zs, args, path, ty, gen, xs, ls):
    dev = dev2 = torch.device("cuda")
    net = head = Net(n)
    x = y = w = torch.zeros(3)
    self = args
"""
NAMES = {
    "device": ("dev", "dev2"),
    "tensor": ("x", "y", "w"),
    "list": ("xs", "ls"),
    "module": ("net", "head"),
    "number": ("n", "k"),
    "type": ("ty",),
    "generator": ("gen",),
}
VALUES = {
    "device": (
        *('"cuda"', '"cpu"', '"cuda:0"', '"gpu"', "dev", "dev2", "x.device", "args.device", "str(dev)", 'f"cuda:{n}"'),
        *('torch.device("cuda" if torch.cuda.is_available() else "cpu")', "dev if n else dev2"),
    ),
    "list": (
        *("xs", "ls", "[]", "[x, y]", "xs + [x]", "list(xs)", "[a.to(dev) for a in xs]", "ls if n else xs", "xs + ls"),
        *("xs * 2", "[nn.Linear(3, 3)]", "ls + [nn.Linear(3, 3)]"),
    ),
    "module": (
        *(
            "nn.Linear(3, 3)",
            "net",
            "head",
            "nn.Sequential(net, head)",
            "net.to(dev)",
            "net.cuda()",
            "Net(n)",
            "build(n)",
        ),
        "nn.DataParallel(net)",
    ),
    "number": ("n", "k", "n + 1", "n * k", "len(xs)", "3", "x.shape[0]", "int(n)"),
    "type": ("ty", "x.type()", "x.device.type", '"torch.cuda.FloatTensor"', "torch.FloatTensor", "y.device.type"),
    "generator": ("gen", "torch.Generator()", "torch.Generator(device=dev)", "None", "gen.manual_seed(n)"),
}
TENSORS = (
    *(
        "x",
        "y",
        "w",
        "torch.zeros(n)",
        "torch.arange(3)",
        "torch.randn(3, 3)",
        "self.buf",
        "xs[0]",
        "ls[n]",
        "x.detach()",
    ),
    *("torch.ones(3, device=dev)", "torch.tensor([n, k])", "torch.from_numpy(np.array(ls))"),
)
COMPUTED = (
    *("{} + {}", "{}.cuda()", "{}.clone()", "{}.view(3)", "torch.cat([{}, {}])", "net({})", "{}.cpu()", "{}.type(ty)"),
    *("({} if n else {})", "{}[{}]", "{}.squeeze()", "{}.float()", "{}.to(dev)"),
)
TESTS = (
    *("n", 'dev == "cuda"', "x.device == y.device", "x.is_cuda", "torch.cuda.is_available()", 'dev != "gpu"'),
    *("x.device.type == ty", "isinstance(x, torch.Tensor)"),
)
LOOPS = ("for z in zs:", "while n:", "for i in range(n):", "for x, y in loader:", "for batch in loader:")
PLAIN = (
    *(
        "net.to(dev)",
        "head.cuda()",
        "xs.append({})",
        "print(np.array({}), {}.numpy())",
        "x, y = y, {}",
        "self.buf = {}",
    ),
    *("torch.set_default_device(dev)", "net.load_state_dict(torch.load(path, map_location=dev))", "self.ls = ls"),
    *("torch.randn(3, generator=gen, device=dev)", "loss = F.mse_loss(net({}), {})", "self.place = dev"),
)


def program(seed: int) -> str:
    """The program of a number."""
    chance = random.Random(seed)
    body = [_block(chance, 2, 0), _block(chance, 2, 0), _block(chance, 1, 0), _block(chance, 1, 0)]
    return f"{HEAD}{body[0]}{BETWEEN}{body[1]}{TAIL}{body[2]}{body[3]}    return net(x)\n"


def _block(chance: random.Random, indent: int, depth: int) -> str:
    return "".join(_statement(chance, indent, depth) for _ in range(chance.randint(1, 4)))


def _statement(chance: random.Random, indent: int, depth: int) -> str:
    pad, kind = "    " * indent, chance.random()
    if kind < 0.5:
        sort = chance.choice([*NAMES, "tensor", "tensor"])
        value = _tensor(chance) if sort == "tensor" else chance.choice(VALUES[sort])
        return f"{pad}{chance.choice(NAMES[sort])} = {value}\n"
    if kind < 0.75 or depth == 3:
        return f"{pad}{_filled(chance, chance.choice(PLAIN))}\n"
    if kind < 0.87:
        return f"{pad}{chance.choice(LOOPS)}\n{_block(chance, indent + 1, depth + 1)}"
    choice = f"{pad}if {chance.choice(TESTS)}:\n{_block(chance, indent + 1, depth + 1)}"
    return choice + (f"{pad}else:\n{_block(chance, indent + 1, depth + 1)}" if chance.random() < 0.5 else "")


def _tensor(chance: random.Random, depth: int = 0) -> str:
    if depth == 3 or chance.random() < 0.4:
        return chance.choice(TENSORS)
    return _filled(chance, chance.choice(COMPUTED), depth + 1)


def _filled(chance: random.Random, text: str, depth: int = 1) -> str:
    return text.format(*(_tensor(chance, depth) for _ in range(text.count("{}"))))
