"""What earlier runs found, and when it is no longer believed."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from devfix.analysis import cache, one_file
from devfix.analysis.jobs import Job

from .conftest import BUGGY, FIXED, Devfix

pytestmark = pytest.mark.usefixtures("library")

Analysed = Callable[[], list[str]]


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> Analysed:
    """The names of the files that were analysed since the last call."""
    seen: list[str] = []
    honest = one_file.analyse

    def watched(job: Job) -> object:
        seen.append(job.target.label)
        return honest(job)

    monkeypatch.setattr("devfix.analysis.one_file.analyse", watched)
    monkeypatch.setattr("devfix.analysis.pool.forks", lambda: False)

    def since() -> list[str]:
        names = list(seen)
        seen.clear()
        return names

    return since


def old(path: Path, text: str, age: float = 60) -> None:
    """A file that was written a while ago."""
    path.write_text(text)
    os.utime(path, (time.time() - age, time.time() - age))


def test_an_unchanged_file_is_not_analysed_again(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", BUGGY)
    old(tree / "b.py", FIXED + "# wrong\n")
    first = devfix("check")
    assert analysed() == ["a.py", "b.py"]
    second = devfix("check")
    assert analysed() == []
    assert first == second
    assert devfix("check", "--output-format", "json").code == 1
    assert analysed() == []


def test_an_unchanged_file_is_not_even_read(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    old(tree / "a.py", "x = 1\n")
    assert devfix("check").code == 0
    monkeypatch.setattr("devfix.results.Target.read", lambda target: pytest.fail("read"))
    assert devfix("check").code == 0


def test_a_changed_file_is_analysed_again(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", BUGGY)
    assert devfix("check").code == 1
    old(tree / "a.py", FIXED + "# wrong\n", age=30)
    analysed()
    assert devfix("check").code == 0
    assert analysed() == ["a.py"]


def test_a_touched_file_is_known_by_its_content(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", BUGGY)
    devfix("check")
    old(tree / "a.py", BUGGY, age=30)
    analysed()
    assert devfix("check").code == 1
    assert analysed() == []


def test_a_file_written_just_now_could_change_within_the_same_tick(
    tree: Path, devfix: Devfix, analysed: Analysed
) -> None:
    path = tree / "a.py"
    path.write_text(BUGGY)
    status = path.stat()
    assert devfix("check").code == 1
    path.write_text(FIXED.replace("x =", "y ="))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert devfix("check").code == 0


@pytest.mark.parametrize("option", [["--ignore", "DVF2"], ["--unsafe"], ["--target-torch", "2.4"]])
def test_other_options_ask_again(option: list[str], tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", BUGGY)
    devfix("check")
    analysed()
    devfix("check", *option)
    assert analysed() == ["a.py"]


def test_other_code_asks_again(tree: Path, devfix: Devfix, analysed: Analysed, monkeypatch: pytest.MonkeyPatch) -> None:
    old(tree / "a.py", BUGGY)
    devfix("check")
    analysed()
    monkeypatch.setattr(cache, "fingerprint", lambda: b"another")
    devfix("check")
    assert analysed() == ["a.py"]


def test_no_cache(tree: Path, devfix: Devfix, analysed: Analysed, home: Path) -> None:
    old(tree / "a.py", BUGGY)
    for _ in range(2):
        assert devfix("check", "--no-cache").code == 1
        assert analysed() == ["a.py"]
    assert not (home / "xdg_cache_home").exists()


def test_a_failure_is_not_remembered(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", "import torch\nwrong(\n")
    for _ in range(2):
        assert devfix("check").code == 2
        assert analysed() == ["a.py"]


def test_a_skipped_file_stays_skipped(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", "# devfix: skip-file\n" + BUGGY)
    first, second = devfix("check"), devfix("check")
    assert first == second
    assert first.err == "skipped a.py: # devfix: skip-file\n"
    assert analysed() == ["a.py"]


def test_rewrite_believes_that_a_file_is_clean_and_nothing_else(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    old(tree / "a.py", BUGGY)
    old(tree / "b.py", FIXED + "# wrong\n")
    devfix("check")
    analysed()
    assert devfix("rewrite").code == 0
    assert analysed() == ["a.py"]
    assert (tree / "a.py").read_text() == FIXED


@pytest.mark.parametrize("data", [b"", b"nonsense", b"\x93\x01", b"\xff" * 100])
def test_a_damaged_cache_is_rebuilt(data: bytes, tree: Path, devfix: Devfix, analysed: Analysed, home: Path) -> None:
    old(tree / "a.py", BUGGY)
    devfix("check")
    [location] = (home / "xdg_cache_home" / "devfix").iterdir()
    location.write_bytes(data)
    analysed()
    assert devfix("check").code == 1
    assert analysed() == ["a.py"]
    assert devfix("check").code == 1
    assert analysed() == []


def test_a_cache_whose_text_is_damaged_is_rebuilt(tree: Path, devfix: Devfix, analysed: Analysed, home: Path) -> None:
    old(tree / "a.py", BUGGY)
    devfix("check")
    [location] = (home / "xdg_cache_home" / "devfix").iterdir()
    location.write_bytes(location.read_bytes().replace(b"batch-not-moved", b"batch-not-\xffoved"))
    analysed()
    ran = devfix("check")
    assert (ran.code, ran.err, analysed()) == (1, "", ["a.py"])


def test_a_cache_that_cannot_be_written_is_done_without(tree: Path, devfix: Devfix, home: Path) -> None:
    old(tree / "a.py", BUGGY)
    (home / "xdg_cache_home").write_text("in the way")
    ran = devfix("check")
    assert (ran.code, ran.err) == (1, "")


def test_a_subfolder_shares_the_cache_of_its_repository(
    repository: Path, devfix: Devfix, analysed: Analysed, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repository / "sub").mkdir()
    old(repository / "sub" / "a.py", BUGGY)
    devfix("check")
    analysed()
    monkeypatch.chdir(repository / "sub")
    assert devfix("check").out.startswith("a.py:3:5")
    assert analysed() == []


@pytest.mark.slow
def test_runs_at_the_same_time_do_no_harm(tree: Path, home: Path) -> None:
    for number in range(30):
        old(tree / f"{number}.py", "import torch\nwith torch.cuda.amp.autocast():\n    pass\n")
    command = [sys.executable, "-m", "devfix", "check", "--select", "DVF302"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    outputs = [run.communicate() for run in runs]
    assert {run.returncode for run in runs} == {1}
    assert len(set(outputs)) == 1
    [location] = (home / "xdg_cache_home" / "devfix").iterdir()
    _, _, entries, *_ = msgspec.msgpack.decode(location.read_bytes())
    assert len(entries) == 30


def test_the_cache_does_not_grow_for_ever(tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "_MOST_ENTRIES", 3)
    book = cache.Cache(tmp_path / "c")
    for number in range(5):
        book.keep_clean(f"/{number}", 1, 1, cache.Choice())
    book.save()
    again = cache.Cache(tmp_path / "c")
    assert [again.by_time(f"/{number}", 1, 1, cache.Choice()) is not None for number in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
