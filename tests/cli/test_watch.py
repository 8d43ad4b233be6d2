"""`devfix check --watch` in a process of its own, over files that really change."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import Devfix

CORPUS = Path(__file__).parents[2] / "corpus" / "DVF101-batch-not-moved" / "classifier-labels"
BUGGY, FIXED = (CORPUS / "before.py").read_text(), (CORPUS / "after.py").read_text()
SECONDS = 60.0
WATCHING = "Watching for changes; Ctrl-C ends.\n"


class Watch:
    """A watch under way, and what it printed, on both streams in one."""

    def __init__(self, tree: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "devfix", "check", "--watch", *arguments]
        self.process = subprocess.Popen(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self) -> str:
        """What the next run printed, up to its last line."""
        printed, deadline = "", time.monotonic() + SECONDS
        while WATCHING not in printed:
            assert time.monotonic() < deadline, printed
            printed += self._some()
        return printed

    def interrupted(self) -> tuple[int, str]:
        """The exit code after Ctrl-C, and what was printed since the last run."""
        self.process.send_signal(signal.SIGINT)
        rest, _ = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, rest.decode()

    def _some(self) -> str:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 1.0)
        return os.read(self.process.stdout.fileno(), 65536).decode() if ready else ""


@pytest.fixture
def watch(tree: Path) -> Iterator[type[Watch]]:
    started: list[Watch] = []

    class Started(Watch):
        def __init__(self, *arguments: str) -> None:
            super().__init__(tree, *arguments)
            started.append(self)

    yield Started
    for one in started:
        one.process.kill()
        one.process.communicate()


def test_what_cannot_be_watched_is_refused(devfix: Devfix) -> None:
    ran = devfix("check", "--watch", "-", stdin=b"")
    assert (ran.code, ran.err) == (2, "devfix: error: --watch is for files, not for `-`\n")
    ran = devfix("check", "--watch", "--output-format", "json")
    assert (ran.code, ran.out) == (2, "")
    assert "--watch prints text; to write json each time, name an --output-file" in ran.err


def test_without_its_extra_it_says_what_to_install(devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    ran = devfix("check", "--watch")
    assert (ran.code, ran.err) == (
        2,
        "devfix: error: devfix check --watch needs watchfiles: pip install 'devfix[watch]'\n",
    )


@pytest.mark.slow
def test_what_is_excluded_starts_no_run_and_what_is_covered_does(tree: Path, watch: type[Watch]) -> None:
    (tree / ".gitignore").write_text("ignored/\n")
    (tree / ".git").mkdir()
    (tree / "pyproject.toml").write_text('[tool.devfix]\nexclude = ["old/"]\n')
    for name in ("ignored", "old", "new"):
        (tree / name).mkdir()
    (tree / "train.py").write_text(BUGGY)
    running = watch(".")
    assert "Found 1 bug in 1 file (1 file checked)" in running.run()
    (tree / "ignored" / "a.py").write_text(BUGGY)
    (tree / "old" / "b.py").write_text(BUGGY)
    (tree / "notes.txt").write_text("nothing")
    time.sleep(3)  # more than the watch takes to see a change: a run over these would come before the next one
    (tree / "new" / "c.py").write_text(BUGGY)
    assert "Found 2 bugs in 2 files (2 files checked)" in running.run()
    (tree / "train.py").write_text(FIXED)
    (tree / "new" / "c.py").unlink()
    assert "No device bugs found (1 file checked)" in running.run()
    assert running.interrupted() == (130, "devfix: interrupted\n")


def test_a_change_of_the_settings_counts_and_a_mistake_in_them_ends_nothing(tree: Path, watch: type[Watch]) -> None:
    (tree / "package").mkdir()
    (tree / "package" / "train.py").write_text(BUGGY)
    running = watch("package")
    assert "Found 1 bug" in running.run()
    (tree / "pyproject.toml").write_text("[tool.devfix]\nnonsense = 1\n")
    printed = running._some()
    while "\n" not in printed:
        printed += running._some()
    assert "[tool.devfix] nonsense: is not a setting of devfix" in printed
    (tree / "pyproject.toml").write_text('[tool.devfix]\nignore = ["DVF101"]\n')
    assert "DVF101" not in running.run()
    assert running.interrupted() == (130, "devfix: interrupted\n")


def test_a_file_that_another_one_rests_on_counts_and_so_does_a_named_one(tree: Path, watch: type[Watch]) -> None:
    (tree / "loop.py").write_text(
        "def train(model, loader, device):\n    for x, y in loader:\n        model(x.to(device))\n"
    )
    main = "import torch\nfrom torch import nn\n\nfrom loop import train\n\nif __name__ == '__main__':\n"
    (tree / "main.py").write_text(
        main + "    model = nn.Linear(4, 2)\n    train(model, loader, torch.device('cuda'))\n"
    )
    running = watch("main.py", "loop.py")
    assert "main.py:7:13: DVF202" in running.run()
    (tree / "loop.py").write_text("def train(model, loader, device):\n    for x, y in loader:\n        model(x)\n")
    assert "DVF202" not in running.run()
    assert running.interrupted() == (130, "devfix: interrupted\n")


def test_only_a_terminal_is_cleared(tree: Path, watch: type[Watch]) -> None:
    (tree / "train.py").write_text(BUGGY)
    assert "\x1b" not in watch(".").run()
    here, there = pty.openpty()
    command = [sys.executable, "-m", "devfix", "check", "--watch"]
    with subprocess.Popen(command, cwd=tree, stdin=there, stdout=there, stderr=there) as process:
        os.close(there)
        shown = b""
        while WATCHING.strip().encode() not in shown:
            shown += os.read(here, 65536)
        assert shown.startswith(b"\x1b[H\x1b[2J\x1b[3J")
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    os.close(here)
