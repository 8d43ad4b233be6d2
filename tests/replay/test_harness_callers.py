"""Whether all who call a function, or make an object, have surely asked for CUDA before, also in other files."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
from devfix.project.import_graph import DiskFiles
from devfix.replay.harness.reaching import Reached

METRIC = """
    import torch
    def compress(net, x):
        return here(net, x)
"""


FROM = "from metric import compress\n"


@pytest.mark.parametrize(
    ("callers", "is_sure"),
    [
        ([FROM + "def run(net):\n    net.eval().cuda()\n    compress(net, 1)\n"], True),
        (["import metric\ndef run(net):\n    net.cuda()\n    return metric.compress(net, 1)\n"], True),
        (["from metric import *\nnet.cuda()\ncompress(net, 1)\n"], True),
        (["from metric import compress as c\n"], False),
        ([FROM + "def run(net):\n    compress(net, 1)\n    net.cuda()\n"], False),
        (
            [FROM + "net.cuda()\ncompress(net, 1)\n", "import metric\nmetric.compress(2, 1)\n"],
            False,
        ),
        ([FROM + "net.cuda()\ncompress(net, 1)\nsteps = map(compress, rows)\n"], False),
        (["def compress(net):\n    pass\nnet.cuda()\ncompress(net)\n"], False),
        ([FROM + "def run(net):\n    compress(net, 1)\nnet.cuda()\nrun(net)\n"], True),
        (
            [FROM + "def run(net):\n    compress(net, 1)\n", "import one\none.run(net.cuda())\n"],
            True,
        ),
        (
            [
                FROM + "def run(net):\n    compress(net, 1)\n",
                "import one\nx.cuda()\none.run(net)\n",
            ],
            True,
        ),
        ([FROM + "def run(compress):\n    return compress\nx.cuda()\ncompress(1, 2)\n"], True),
    ],
)
def test_all_who_call_it_in_other_files_have_asked(tmp_path: Path, callers: list[str], is_sure: bool) -> None:
    assert called_late(tmp_path, METRIC, callers, "compress") is is_sure


def called_late(tmp_path: Path, text: str, others: list[str], name: str, *, after: bool = False) -> bool:
    """Whether a function of `metric.py`, with other files beside it, asks before it comes to its line `here`, or after
    it."""
    path = tmp_path / "metric.py"
    path.write_text(text := dedent(text))
    for other, said in zip(("one.py", "two.py"), others, strict=False):
        (tmp_path / other).write_text(said)

    def speakers(word: str) -> list[str]:
        return [str(one) for one in sorted(tmp_path.glob("*.py")) if word in one.read_text()]

    line = next(number for number, one in enumerate(text.splitlines(), 1) if "here" in one)
    reached = Reached(str(path), ast.parse(text), DiskFiles(str(tmp_path)), speakers=speakers)
    return reached.asks_after(name, line) if after else reached.asks_before(name, line)


HEAD = """
    import torch
    class Head(torch.nn.Module):
        def __init__(self, n):
            super(Head, self).__init__()
            self.n = n
        def forward(self, x):
            return here(x)
"""
MADE = "from metric import Head\n"
PART = MADE + "class Net:\n    def __init__(self):\n        self.head = Head(3)\n"


@pytest.mark.parametrize(
    ("makers", "is_sure"),
    [
        ([MADE + "def run(x):\n    net = Head(3).cuda()\n    net(x)\n"], True),
        ([MADE + "def run(x):\n    net = Head(3)\n    print(x)\n    net.cuda()\n    net(x)\n"], True),
        ([MADE + "def run(x):\n    x = x.cuda()\n    net = Head(3)\n"], True),
        ([MADE + "def made():\n    return Head(3)\nnet = made().cuda()\n"], True),
        (
            [MADE + "def made():\n    net = Head(3)\n    return net\n", "from one import made\nnet = made().cuda()\n"],
            True,
        ),
        ([PART, "from one import Net\nnet = Net()\nnet = torch.nn.DataParallel(net).cuda()\n"], True),
        ([PART, "from one import Net\nnet = Net()\nnet.to(device)\n"], False),
        ([MADE + "def run(x):\n    net = Head(3)\n    net(x)\n    net.cuda()\n"], False),
        ([MADE + "def run(x, gpu):\n    net = Head(3)\n    if gpu:\n        net.cuda()\n    net(x)\n"], False),
        ([MADE + "def run(x):\n    net = Head(3)\n    return net\n"], False),
        ([MADE + "class Wide(Head):\n    pass\nnet = Head(3).cuda()\n"], False),
        ([MADE + "net = Head(3).cuda()\nheads = {'head': Head}\n"], False),
        ([MADE + "def run(x):\n    Head(3).cuda()(x)\ndef other(x):\n    Head(3)(x)\n"], False),
    ],
)
def test_all_who_make_the_object_ask_before_they_use_it(tmp_path: Path, makers: list[str], is_sure: bool) -> None:
    assert called_late(tmp_path, HEAD, makers, "Head.forward") is is_sure


SOLVER = """
    import torch
    class Solver(Base):
        def train(self, path):
            {before}
            if path:
                self.restore(path)
            {behind}
        def restore(self, path):
            return self.read(path)
        def read(self, path):
            return here(path)
"""


@pytest.mark.parametrize(
    ("before", "behind", "others", "is_before", "is_after"),
    [
        ("self.net.cuda()", "pass", [], True, False),
        ("pass", "self.net.cuda()", [], False, True),
        ("pass", "pass", [], False, False),
        ("self.net.cuda()", "self.net.cuda()", ["def look(solver):\n    solver.read(1)\n"], False, False),
        (
            "self.net.cuda()",
            "self.net.cuda()",
            ["def look(solver):\n    return map(solver.restore, 1)\n"],
            False,
            False,
        ),
    ],
)
def test_all_who_call_a_method_by_its_name(
    tmp_path: Path, before: str, behind: str, others: list[str], is_before: bool, is_after: bool
) -> None:
    text = SOLVER.format(before=before, behind=behind)
    assert called_late(tmp_path, text, others, "Solver.read") is is_before
    assert called_late(tmp_path, text, others, "Solver.read", after=True) is is_after


def test_what_torch_calls_is_called_by_others(tmp_path: Path) -> None:
    text = "class Net(Base):\n    def forward(self, x):\n        return here(x)\n"
    assert not called_late(tmp_path, text, ["x.cuda()\nnet.forward(x)\n"], "Net.forward")
