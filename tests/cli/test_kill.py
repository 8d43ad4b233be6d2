"""A rewrite that is killed leaves every file whole, and can be undone."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FILES = 120
BEFORE = "import torch\n\nwith torch.cuda.amp.autocast():\n    pass\n" + "# padding\n" * 200


@pytest.fixture
def files(tree: Path) -> list[Path]:
    paths = [tree / f"package{number % 7}" / f"module{number}.py" for number in range(FILES)]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(BEFORE)
    return paths


PAUSING = """
import sys, time
from devfix.changes import saving
from devfix.__main__ import main

honest, left = saving.write, int(sys.argv.pop(1))

def pausing(*arguments):
    global left
    honest(*arguments)
    left -= 1
    if not left:
        time.sleep(600)

saving.write = pausing
sys.exit(main())
"""
SECONDS = 120
"""How long a machine with much else to do may take."""


def start(*arguments: str, pause_after: int = 0) -> subprocess.Popen[bytes]:
    """devfix in a process of its own, which pauses after it has written so many files; with 0 it does not."""
    command = [sys.executable, "-c", PAUSING, str(pause_after), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def changed(files: list[Path]) -> int:
    return sum(path.read_text() != BEFORE for path in files)


@pytest.mark.parametrize("number", [1, FILES // 2])
def test_killed_in_the_middle(number: int, files: list[Path], tree: Path) -> None:
    with start("rewrite", "--select", "deprecated-amp", pause_after=number) as process:
        while changed(files) < number and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    after = {path.read_text() for path in files} - {BEFORE}
    assert len(after) == 1
    assert 0 < changed(files) < FILES
    with start("undo") as undo:
        _, err = undo.communicate()
    assert (undo.returncode, err) == (0, b"")
    assert changed(files) == 0
    assert [path for path in tree.rglob("*") if path.is_file() and path.suffix != ".py"] == []


def test_interrupted_in_the_middle(files: list[Path], tree: Path) -> None:
    with start("rewrite", "--select", "deprecated-amp", pause_after=3) as process:
        while changed(files) < 3 and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode == 130
    assert b"Undo with: devfix undo" in err
    assert b"Traceback" not in err
    assert 0 < changed(files) < FILES
    assert [path for path in tree.rglob("*") if path.is_file() and path.suffix != ".py"] == []


def test_interrupted_in_the_analysis(files: list[Path]) -> None:
    with start("check", "--no-cache", "--jobs", "2") as process:
        _wait_for_workers(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert process.returncode in (1, 130)
    assert b"Traceback" not in err
    assert changed(files) == 0


def test_workers_end_with_their_parent(files: list[Path]) -> None:
    with start("check", "--no-cache", "--jobs", "2") as process:
        _wait_for_workers(process)
        workers = _children(process.pid)
        process.kill()
    assert len(workers) >= 2
    deadline = time.monotonic() + SECONDS
    while any(map(_alive, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(_alive, workers))


def _wait_for_workers(process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS
    while len(_children(process.pid)) < 2 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in found.read_text().split()] if found.exists() else []


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False
