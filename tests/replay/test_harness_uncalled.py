"""Code that nothing in the project comes to: a driver shows that it fails, and not that anybody meets that."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
from devfix.project.import_graph import DiskFiles
from devfix.replay.harness.reaching import Reached
from devfix.replay.harness.uncalled import uncalled

NETS = """
    import torch
    __all__ = ["penalty", "Loss"]

    def penalty(x):
        return helper(x)

    def helper(x):
        return helper(x - 1)

    class Loss(torch.nn.Module):
        def forward(self, x):
            return self.scaled(x)

        def scaled(self, x):
            return x
"""


def told(tmp_path: Path, name: str, user: str = "", nets: str = NETS, text: str = "") -> str | None:
    """What is told of `name` in `nets.py`, beside a file that may use it, and settings."""
    for file, source in (("nets.py", nets), ("train.py", user)):
        (tmp_path / file).write_text(dedent(source))

    def speakers(word: str) -> list[str]:
        return [str(path) for path in tmp_path.glob("*.py") if word in path.read_text()]

    path = tmp_path / "nets.py"
    reached = Reached(str(path), ast.parse(path.read_text()), DiskFiles(str(tmp_path)), speakers=speakers)
    return uncalled(reached, name, lambda word: word in text)


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("penalty", "from nets import penalty\npenalty(3)\n"),
        ("penalty", "import nets\ndef main():\n    return nets.penalty\nmain()\n"),
        ("penalty", "import nets\ngetattr(nets, 'penalty')(3)\n"),
        ("helper", "from nets import penalty\npenalty(3)\n"),
        ("Loss.forward", "from nets import Loss\nLoss()(3)\n"),
        ("Loss.scaled", "from nets import Loss\nclass More(Loss): pass\n"),
        ("Loss.forward", "import nets\nkind = {'type': 'Loss'}\n"),
        ("", ""),
    ],
)
def test_what_something_uses_or_may_use(tmp_path: Path, name: str, user: str) -> None:
    assert told(tmp_path, name, user) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def penalty(x)", "@register\n    def penalty(x)"),
        ("def penalty(x)", "def test_penalty(x)"),
        ("def penalty(x)", "def __getattr__(x)"),
    ],
)
def test_what_is_used_without_its_name(tmp_path: Path, old: str, new: str) -> None:
    name = new.rpartition("def ")[2].partition("(")[0]
    assert told(tmp_path, name, nets=NETS.replace(old, new)) is None


def test_a_method_that_a_base_may_call(tmp_path: Path) -> None:
    nets = NETS.replace("Loss(torch.nn.Module)", "Loss(Trainer)").replace("self.scaled(x)", "x")
    assert told(tmp_path, "Loss.scaled", "from nets import Loss\nLoss().fit()\n", nets) is None


def test_what_settings_name(tmp_path: Path) -> None:
    assert told(tmp_path, "Loss.forward", text="loss: Loss") is None


@pytest.mark.parametrize(
    ("name", "user", "unused"),
    [
        ("penalty", "", "penalty"),
        ("penalty", "from nets import penalty\n", "penalty"),
        ("penalty", "from nets import penalty\ndef main():\n    penalty(3)\n", "penalty"),
        ("helper", "", "helper"),
        ("Loss.forward", "from nets import Loss\n", "Loss"),
        ("Loss.scaled", "def more():\n    return Loss\n", "Loss"),
        ("Loss.__init__", "", "Loss"),
    ],
)
def test_what_nothing_uses_but_what_nothing_uses(tmp_path: Path, name: str, user: str, unused: str) -> None:
    assert told(tmp_path, name, user) == unused


def test_a_method_that_nothing_calls(tmp_path: Path) -> None:
    nets = NETS.replace("self.scaled(x)", "x")
    assert told(tmp_path, "Loss.scaled", "from nets import Loss\nLoss()(3)\n", nets) == "Loss.scaled"
