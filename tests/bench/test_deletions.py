"""What is deleted from correct code, and what is left of it."""

import ast
import random
from pathlib import Path
from textwrap import dedent

import pytest
from cases import mirrors, read_rows, write_rows
from deletions import deletions, drawn

from .repository import History

PLACES = """
import torch

class Net(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.register_buffer("scale", torch.ones(3), persistent=False)
        self.register_buffer("nothing", None)
        self.register_buffer(name, torch.ones(3))
        self.to(device)

def load(path, net, device, dtype):
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net = net.to(device)
    torch.cuda.synchronize()
    return net.to(dtype)

def run(net, x, device):
    if device:
        x = x.cuda()
    noise = torch.randn(3,  # as many
                        device=x.device)
    more = torch.ones(device=device, size=(3,))
    both = torch.ones((3), device=device)
    y = net((x + noise).to(device)) * 2
    return y.detach().cpu().numpy()
"""


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def found() -> dict[str, list[str]]:
    """By kind, each deletion as the lines of the program that it changes, written by Python itself."""
    whole = ast.unparse(ast.parse(PLACES)).splitlines()
    by_kind: dict[str, list[str]] = {}
    for one in deletions(PLACES.encode()):
        lines = ast.unparse(ast.parse(one.applied(PLACES.encode()))).splitlines()
        by_kind.setdefault(one.kind, []).append(
            " / ".join(line.strip() for line in lines if line not in whole) or "gone"
        )
    return by_kind


def test_every_deletion_of_every_kind() -> None:
    kinds = found()
    assert sorted(kinds["move"]) == ["gone", "gone", "gone", "y = net(x + noise) * 2"]
    assert sorted(kinds["factory"]) == ["more = torch.ones(size=(3,))", "noise = torch.randn(3)"]
    assert kinds["load"] == ["net.load_state_dict(torch.load(path))"]
    assert kinds["buffer"] == ["self.scale = torch.ones(3)"]
    assert kinds["host"] == ["return y.detach().numpy()"]


def test_the_place_is_where_the_code_is_now() -> None:
    for one in deletions(PLACES.encode()):
        lines = one.applied(PLACES.encode()).decode().split("\n")
        assert 0 < one.line <= one.last <= len(lines)


def test_what_is_drawn_parses_and_is_drawn_again(history: History, tmp_path: Path) -> None:
    history.commit("first", net=PLACES, copy=PLACES, tests__test_net=PLACES, plain="print(1)\n", broken="torch cuda (")
    (mirror,) = mirrors(history.mirrors, half="both")
    once, again = (list(drawn(mirror, random.Random(3), 6, set())) for _ in range(2))
    assert once == again
    ((row, before, after),) = once
    assert row.path in {"net.py", "copy.py"}
    assert after == PLACES.encode()
    assert before != after
    ast.parse(before)
    write_rows(tmp_path / "rows.jsonl", [row])
    assert read_rows(tmp_path / "rows.jsonl") == [row]


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_line_ends_are_kept(ends: str) -> None:
    source = PLACES.replace("\n", ends).encode()
    for one in deletions(source):
        text = one.applied(source)
        assert text.count(b"\r") == (text.count(b"\n") if ends == "\r\n" else 0)


def left(program: str, kind: str = "move") -> list[str]:
    """What is left of a program by each deletion of a kind, as Python writes it."""
    source = dedent(program).strip()
    return [
        ast.unparse(ast.parse(one.applied(source.encode()))) for one in deletions(source.encode()) if one.kind == kind
    ]


def unparsed(program: str) -> str:
    return ast.unparse(ast.parse(dedent(program)))


HARMLESS = {
    "an index": "def f(x, n, device):\n    i = torch.randperm(n).to(device)\n    return x[i], x[:, i]",
    "a mask": "def f(x, m, device):\n    return x[~m.to(device)]",
    "an index that is made there": "def f(x, device):\n    return x[torch.arange(3, device=device)]",
    "ends on the host": "def f(x, device):\n    x = x.to(device)\n    return x.cpu(), x.shape, len(x)",
    "moved again": "def f(net, x, device):\n    return net(x.cuda().float().to(device))",
    "moved before": "def f(net, x, device):\n    y = x.to(device)\n    return net(y.cuda())",
    "made there": "def f(net, device):\n    y = torch.zeros(3, device=device)\n    return net(y.to(device))",
    "made like its neighbour": "def f(x):\n    return x + torch.zeros_like(x).to(x.device)",
    "the next line moves it": "net = make()\nnet.to(device)\nnet = net.cuda()\nrun(net)",
    "a loss without weights": "def f(x, y):\n    loss = nn.BCELoss(reduction='sum').cuda()\n    return loss(x, y)",
    "a loss, later": "class T:\n    def f(self):\n        self.loss = nn.MSELoss()\n        self.loss.cuda()",
    "a class without tensors": """
        class Dice(nn.Module):
            def __init__(self, smooth=1.0):
                super().__init__()
                self.smooth = smooth
                self.number = 2
        loss = Dice().cuda()
    """,
    "a number beside tensors": "def f(net, x, device):\n    return net(x) * torch.tensor(0.5, device=device)",
    "the host": "device = torch.device('cpu')\ndef f(net, x):\n    return net(x.to(device))",
}
HARMFUL = {
    "an index of a call": "def f(x, i, device):\n    return x.index_select(0, i.to(device))",
    "what is indexed": "def f(x, i, device):\n    return x.to(device)[i]",
    "one use that matters": "def f(net, x, device):\n    x = x.to(device)\n    return x.shape, net(x)",
    "brought back between": "def f(net, x, device):\n    return net(x.cuda().cpu().to(device))",
    "moved in one arm": "def f(net, x, c, device):\n    y = x\n    if c:\n        y = make()\n    return net(y.cuda())",
    "a loss with weights": "def f(x, y, w):\n    loss = nn.CrossEntropyLoss(weight=w).cuda()\n    return loss(x, y)",
    "a loss with weights in place": "def f(x, y, w):\n    loss = nn.NLLLoss(w).cuda()\n    return loss(x, y)",
    "a loss or a network": "def f(c):\n    m = nn.MSELoss()\n    if c:\n        m = Net()\n    m.cuda()\n    return m",
    "a class that stores what it gets": """
        class Dice(nn.Module):
            def __init__(self, net):
                super().__init__()
                self.net = net
        loss = Dice(net).cuda()
    """,
    "a number on the left of an assignment": """
        def f(net, x, device):
            total = torch.tensor(0.0).to(device)
            total += net(x)
            return total
    """,
    "a number beside a number": "def f(n, device):\n    return keep(torch.tensor(0.5).to(device) * 2)",
    "a device that may be another": "device = torch.device('cpu')\ndevice = pick()\nnet.to(device)\nrun(net)",
}


@pytest.mark.parametrize("program", HARMLESS.values(), ids=HARMLESS)
def test_what_cannot_fail_is_not_deleted(program: str) -> None:
    assert [*left(program), *left(program, "factory")] == []


@pytest.mark.parametrize("program", HARMFUL.values(), ids=HARMFUL)
def test_what_can_fail_or_is_not_known_stays(program: str) -> None:
    assert left(program)


EMPTIED = {
    "an if": (
        "if cuda:\n    x = x.cuda()\ny = net(x)",
        "y = net(x)",
    ),
    "two ifs": (
        "if cuda:\n    if more:\n        x = x.cuda()\ny = net(x)",
        "y = net(x)",
    ),
    "an if with an else": (
        "if cuda:\n    x = x.cuda()\nelse:\n    x = x.float()\ny = net(x)",
        "if not cuda:\n    x = x.float()\ny = net(x)",
    ),
    "an else": (
        "if plain:\n    x = x.float()\nelse:\n    x = x.cuda()\ny = net(x)",
        "if plain:\n    x = x.float()\ny = net(x)",
    ),
    "an elif": (
        "if plain:\n    x = x.float()\nelif cuda:\n    x = x.cuda()\ny = net(x)",
        "if plain:\n    x = x.float()\ny = net(x)",
    ),
    "a loop": (
        "for net in nets:\n    net.to(device)\nrun(nets)",
        "run(nets)",
    ),
    "a with": (
        "with torch.no_grad():\n    x = x.to(device)\ny = net(x)",
        "y = net(x)",
    ),
    "a function stays": (
        "def move(net, device):\n    net.to(device)",
        "def move(net, device):\n    pass",
    ),
    "an if in a function": (
        "def move(net, device):\n    if device:\n        net.to(device)",
        "def move(net, device):\n    pass",
    ),
}


@pytest.mark.parametrize(("program", "wanted"), EMPTIED.values(), ids=EMPTIED)
def test_what_a_deletion_empties_goes_as_well(program: str, wanted: str) -> None:
    assert left(program) == [unparsed(wanted)]


def test_a_chain_of_conditions_is_not_cut_in_the_middle() -> None:
    assert left("if cuda:\n    x = x.cuda()\nelif mps:\n    y = 1\nelse:\n    y = 2\nnet(x)") == []


PATH = """import torch
def run(net, loader, device):
    print("away")
    print("before the birth")
    for step, batch in enumerate(loader):
        print("away")
        print("before the element")
        x, y = batch
        print("before the move")
        x = x.to(device)
        print("where it was moved")
        print("away")
        print("before the view")
        z = x.view(-1)
        print("away")
        print("before the meeting")
        loss = net(z)
        print(loss)
"""


def test_the_path_is_from_birth_to_meeting() -> None:
    """In lines of the broken file, each with the one after which a line before it is put."""
    (found,) = deletions(PATH.encode())
    lines = found.applied(PATH.encode()).decode().splitlines()
    path = [lines[number - 1].strip() for number in found.path]
    assert [line for line in path if "print" not in line] == [
        "for step, batch in enumerate(loader):",
        "x, y = batch",
        "z = x.view(-1)",
        "loss = net(z)",
    ]
    assert not {'print("away")', "print(loss)"} & {*path}


def test_the_path_of_an_attribute_is_its_class() -> None:
    program = dedent("""
        import torch
        class Net(torch.nn.Module):
            def __init__(self, n):
                super().__init__()
                self.register_buffer("scale", torch.ones(n))
            def forward(self, x):
                x = self.fc(x)
                x = torch.relu(x)
                return x * self.scale
        class Other:
            def run(self):
                return self.scale
    """)
    (found,) = deletions(program.encode())
    assert found.path == (5, 6, 9, 10)
