"""`devfix batch`, from the command line to the run's folder."""

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from devfix.__main__ import main
from devfix.batch.engines import Ended, Finished, Lost, Source, Started
from devfix.batch.ledger import Ledger
from devfix.batch.records import Job, Outcome, State
from devfix.replay.processes import Tick

from ..cli.conftest import TIERED, install
from .git_repositories import bare, committed, git

BUGGY = b"import torch\n\nscaler = torch.cuda.amp.GradScaler()\n"
CLEAN = b"import torch\n\nprint(torch.zeros(3).sum())\n"


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


Batch = Callable[..., Ran]


@pytest.fixture
def batch(capfd: pytest.CaptureFixture[str]) -> Batch:
    """Runs `devfix batch` in this process."""

    def run(*arguments: str) -> Ran:
        capfd.readouterr()
        code = main(("batch", *arguments))
        return Ran(code, *capfd.readouterr())

    return run


@pytest.fixture
def manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two repositories, one with something to fix."""
    monkeypatch.chdir(tmp_path)
    committed(tmp_path / "repos" / "buggy", {"a.py": BUGGY, "b/c.py": BUGGY})
    committed(tmp_path / "repos" / "clean", {"a.py": CLEAN})
    path = tmp_path / "repos.toml"
    path.write_text('[[repo]]\npath = "repos/buggy"\nlabels = ["x"]\n[[repo]]\npath = "repos/clean"\n')
    return path


def run(batch: Batch, *more: str, name: str = "repos.toml") -> Ran:
    return batch("run", name, "--out", "run", "--engine", "inline", *more)


def rows(folder: str = "run") -> dict[str, Any]:
    with Ledger.read_only(folder) as view:
        return {row.name: row for row in view.rows()}


def snapshot(folder: Path) -> dict[str, Any]:
    """All of a run's folder that is the same however often it was interrupted."""
    results = {path.name: json.loads(path.read_bytes()) for path in (folder / "results").iterdir()}
    for result in results.values():
        del result["seconds"], result["worker"]
    patches = {path.name: path.read_bytes() for path in (folder / "patches").iterdir()}
    branches = [git(clone, "for-each-ref", "refs/heads") for clone in sorted((folder / "clones").glob("*.git"))]
    with Ledger.read_only(folder) as view:
        told = [(row.name, row.state, row.commit, row.kept, row.files) for row in view.rows()]
    return {"results": results, "patches": patches, "branches": branches, "rows": told}


# What must not happen


def test_nothing_runs_where_the_manifest_has_mistakes(manifest: Path, batch: Batch) -> None:
    manifest.write_text('[[repo]]\npath = "repos/none"\n[[repo]]\npaht = "repos/clean"\n')
    ran = run(batch)
    assert ran.code == 2
    assert "repos.toml:2" in ran.err
    assert "repos.toml:4" in ran.err
    assert not (manifest.parent / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--address", "auto"], "--address is that of a Ray cluster"),
        (["--engine", "ray", "--workers", "2"], "--workers is for this machine"),
        (["--select", "DVF9999"], "no rule 'DVF9999'"),
        (["--target-torch", "new"], "is no torch version"),
        (["--branch", "a..b"], "--branch"),
        (["--branch", "a\nb"], r"holds '\n', which no branch"),
        (["--branch", "a\x7fb"], r"holds '\x7f', which no branch"),
        (["--accelerators", "cuda0"], "--accelerators"),
    ],
)
def test_wrong_usage_is_one_line(manifest: Path, batch: Batch, arguments: list[str], told: str) -> None:
    ran = batch("run", "repos.toml", "--out", "run", *arguments)
    assert ran.code == 2
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert not (manifest.parent / "run" / "results").exists()


def test_a_folder_that_is_somebody_elses_is_left_alone(manifest: Path, batch: Batch) -> None:
    (manifest.parent / "run").mkdir()
    (manifest.parent / "run" / "thesis.tex").write_text("all of it")
    ran = run(batch)
    assert ran.code == 2
    assert "is not the folder of a batch run" in ran.err
    assert [path.name for path in (manifest.parent / "run").iterdir()] == ["thesis.tex"]


def test_strangers_code_is_not_run_without_a_sandbox(
    manifest: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devfix.replay.confinement.find_confinement", lambda *_: "bubblewrap is not installed")
    ran = run(batch, "--replay")
    assert ran.code == 2
    assert "bubblewrap is not installed; --trust-code" in ran.err
    assert not (manifest.parent / "run").exists()


def test_another_order_for_the_same_folder_is_refused(manifest: Path, batch: Batch) -> None:
    assert run(batch).code == 0
    for more in (["--publish", "none"], ["--commits", "all"], ["--unsafe"]):
        ran = run(batch, *more)
        assert ran.code == 2, more
        assert "use another folder" in ran.err


@pytest.mark.parametrize("command", [["status"], ["report"], ["retry", "--failed"]])
def test_there_is_no_such_run(tmp_path: Path, batch: Batch, command: list[str]) -> None:
    ran = batch(command[0], str(tmp_path / "none"), *command[1:])
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "no batch run in" in ran.err
    assert not (tmp_path / "none").exists()


def test_retry_asks_which_ones(manifest: Path, batch: Batch) -> None:
    run(batch)
    ran = batch("retry", "run")
    assert ran.code == 2
    assert "--failed" in ran.err
    ran = batch("retry", "run", "bugy")
    assert ran.code == 2
    assert "did you mean 'buggy'" in ran.err


# What does


def test_a_run_from_manifest_to_patch(manifest: Path, batch: Batch) -> None:
    ran = run(batch)
    assert ran.code == 0
    assert "2 fixes in 1 repository" in ran.out
    assert "[1/2] buggy: changed, 2 fixes" in ran.err
    assert "[2/2] clean: clean" in ran.err
    folder = manifest.parent / "run"
    assert [path.name for path in (folder / "patches").iterdir()] == ["buggy.patch"]
    copy = manifest.parent / "copy"
    git(manifest.parent, "clone", "-q", "repos/buggy", "copy")
    git(copy, "am", "-q", str(folder / "patches" / "buggy.patch"))
    assert "torch.amp.GradScaler" in (copy / "a.py").read_text()
    assert (folder / "report" / "index.html").is_file()
    assert "buggy" in (folder / "report.md").read_text()
    assert json.loads((folder / "report.json").read_bytes())["version"] == 1


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_folder_may_be_named_by_a_link(slash: str, manifest: Path, batch: Batch) -> None:
    (manifest.parent / "linked").symlink_to(manifest.parent)
    ran = batch("run", "repos.toml", "--out", f"{slash}{manifest.parent}/linked/run", "--engine", "inline")
    assert (ran.code, "2 fixes in 1 repository" in ran.out) == (0, True)


def test_a_folder_whose_name_is_no_text_is_refused(manifest: Path, batch: Batch) -> None:
    name = os.fsdecode(b"run\xff")
    ran = batch("run", "repos.toml", "--out", name, "--engine", "inline")
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "cannot hold a batch run: its path is no UTF-8" in ran.err
    assert "no batch run in" in batch("status", name).err


def test_what_is_done_is_not_done_again(manifest: Path, batch: Batch) -> None:
    run(batch)
    before = rows()
    ran = run(batch)
    assert ran.code == 0
    assert "[" not in ran.err
    assert rows() == before


def test_an_edited_manifest_does_what_was_edited(manifest: Path, batch: Batch) -> None:
    run(batch)
    before = rows()
    manifest.write_text(manifest.read_text().replace('labels = ["x"]', 'labels = ["y"]\nselect = ["DVF101"]'))
    ran = run(batch)
    assert "buggy: clean" in ran.err
    assert rows()["clean"] == before["clean"]
    assert not list((manifest.parent / "run" / "patches").iterdir())


def test_run_is_the_usual_command(manifest: Path, batch: Batch) -> None:
    assert batch("repos.toml", "--out", "run", "--engine", "inline", "--quiet").code == 0
    assert set(rows()) == {"buggy", "clean"}


def test_a_folder_of_checkouts_and_rules_of_the_command_line(manifest: Path, batch: Batch) -> None:
    ran = run(batch, "--select", "DVF101", name="repos")
    assert ran.code == 0
    assert "buggy: clean" in ran.err
    with Ledger.read_only("run") as view:
        assert view.run().plan.branch.endswith("-dvf101")


def test_a_failure_is_the_exit_code_and_retry_mends_it(manifest: Path, batch: Batch) -> None:
    moved = manifest.parent / "repos" / "away"
    manifest.write_text(manifest.read_text() + '[[repo]]\nurl = "file://' + str(moved) + '"\nname = "away"\n')
    ran = run(batch)
    assert ran.code == 2
    assert "away: failed" in ran.err
    assert "not a git repository" in ran.out
    committed(moved, {"a.py": BUGGY})
    before = rows()["buggy"]
    ran = batch("retry", "run", "--failed", "--engine", "inline")
    assert ran.code == 0
    assert rows()["away"].state is State.CHANGED
    assert rows()["buggy"] == before


def test_retry_by_name(manifest: Path, batch: Batch) -> None:
    run(batch)
    before = rows()
    assert batch("retry", "run", "clean", "--engine", "inline").code == 0
    assert rows()["buggy"] == before["buggy"]
    assert rows()["clean"].finished > before["clean"].finished


def test_retry_works_where_the_folder_of_the_run_is_now(manifest: Path, batch: Batch) -> None:
    run(batch)
    Path("run").rename("moved")
    result = Path("moved", "results", "buggy.json")
    before = result.stat().st_ino
    assert batch("retry", "moved", "buggy", "--engine", "inline").code == 0
    assert result.stat().st_ino != before
    assert not Path("run").exists()


def test_status_and_report_at_any_time(manifest: Path, batch: Batch) -> None:
    run(batch)
    assert "2 of 2 repositories done" in batch("status", "run").out
    told = json.loads(batch("status", "run", "--output-format", "json").out)
    assert (told["active"], told["summary"]["repositories"]) == (False, 2)
    index = manifest.parent / "run" / "report" / "index.html"
    page = index.read_bytes()
    index.unlink()
    assert batch("report", "run").code == 0
    assert index.read_bytes() == page


def test_push_then_the_branch_is_there(manifest: Path, batch: Batch) -> None:
    remote = bare(manifest.parent / "remote.git", manifest.parent / "repos" / "buggy")
    manifest.write_text(f'publish = "push"\n[[repo]]\npath = "{remote}"\nname = "remote"\n')
    assert run(batch, "--branch", "fix/devices").code == 0
    assert "devfix" in git(remote, "log", "--format=%s", "-1", "fix/devices")
    time.sleep(1)  # what was pushed in this second, with these names, would be this run's own
    ran = batch("run", "repos.toml", "--out", "other", "--engine", "inline", "--branch", "fix/devices")
    assert ran.code == 0
    assert rows("other")["remote"].state is State.SKIPPED
    replaced = ("--out", "other", "--engine", "inline", "--branch", "fix/devices", "--existing", "replace")
    assert batch("run", "repos.toml", *replaced).code == 0
    assert rows("other")["remote"].state is State.CHANGED


class Loses:
    """An engine whose workers die for one repository, so many times."""

    name = "loses"

    def __init__(self, times: int) -> None:
        self._times = times

    def run(self, source: Source, started: Started, tick: Tick) -> Generator[Ended, None, None]:
        while (job := source()) is not None:
            started(job, "node-1")
            tick()
            yield self._answer(job)

    def _answer(self, job: Job) -> Ended:
        if job.repository.name == "buggy" and job.attempt <= self._times:
            return Lost(job, "killed by SIGKILL", "node-1")
        return Finished(job, Outcome(job.repository.name, State.CLEAN))


@pytest.mark.parametrize(("times", "state", "code"), [(1, State.CLEAN, 0), (2, State.FAILED, 2)])
def test_a_lost_worker_is_replaced_once(
    manifest: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch, times: int, state: State, code: int
) -> None:
    monkeypatch.setattr("devfix.batch.engines.choosing.choose", lambda *_: Loses(times))
    ran = run(batch)
    assert ran.code == code
    assert rows()["buggy"].state is state
    assert "buggy: killed by SIGKILL; it is tried again" in ran.err
    assert rows()["buggy"].attempt == 2


KILLED_AT_WORK = """
import os, signal, sys
from devfix.__main__ import main
from devfix.batch.ledger import Ledger

def assign(*_):
    os.kill(os.getpid(), signal.SIGKILL)

Ledger.assign = assign
main()
"""


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_the_same(manifest: Path, batch: Batch) -> None:
    """The driver is killed again and again, at random moments; it goes on each time, to the undisturbed result.

    The first one kills itself as soon as it has work, however fast this machine is.
    """
    names = [f"many/{number}" for number in range(6)]
    for name in names:
        committed(manifest.parent / name, {"a.py": BUGGY if int(name[-1]) % 2 else CLEAN, "b.py": BUGGY})
    manifest.write_text("".join(f'[[repo]]\npath = "{name}"\nname = "r{name[-1]}"\n' for name in names))
    command = ["batch", "run", "repos.toml", "--out", "killed", "-q", "--workers", "2", "--branch", "fix/devices"]
    first = subprocess.run([sys.executable, "-c", KILLED_AT_WORK, *command], start_new_session=True, check=False)
    assert first.returncode == -signal.SIGKILL
    chance = random.Random(0)
    most, code = 3.0, -signal.SIGKILL
    while code == -signal.SIGKILL:
        driver = subprocess.Popen([sys.executable, "-m", "devfix", *command], start_new_session=True)
        try:
            code = driver.wait(timeout=chance.uniform(0.2, most))
        except subprocess.TimeoutExpired:
            driver.kill()
            code = driver.wait()
        most *= 1.2  # a slow machine gets to the end, too
    assert code == 0
    date = _date_of("killed")
    assert run(batch, "--branch", "fix/devices").code == 0
    assert _without_dates(snapshot(manifest.parent / "killed")) == _without_dates(snapshot(manifest.parent / "run"))
    assert _date_of("killed") == date
    assert not list((manifest.parent / "killed" / "work").iterdir())


def test_what_a_killed_driver_had_half_written_is_removed(manifest: Path, batch: Batch) -> None:
    assert run(batch).code == 0
    out = manifest.parent / "run"
    halves = [out / "patches" / ".good.patch.x1.tmp", out / "results" / ".good.json.x1.tmp", out / ".index.html.x1.tmp"]
    for half in halves:
        half.write_bytes(b"half")
    assert run(batch).code == 0
    assert not [half for half in halves if half.exists()]


def _date_of(folder: str) -> str:
    with Ledger.read_only(folder) as view:
        return view.run().plan.date


def _without_dates(found: dict[str, Any]) -> dict[str, Any]:
    """Commits have the date of their run in them, and so have their names."""
    for result in found["results"].values():
        result["commits"] = [commit["subject"] for commit in result["commits"]]
        del result["patch"], result["body"]
    found["branches"] = len(found["branches"])
    found["patches"] = sorted(found["patches"])
    return found


def test_a_disk_that_is_full_is_told_and_the_run_goes_on_later(
    manifest: Path, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(file: str, data: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), file)

    with monkeypatch.context() as patched:
        patched.setattr("devfix.batch.driver.put", full)
        ran = run(batch)
    assert ran.code == 2
    assert "buggy.json cannot be written: No space left on device; the same command goes on" in ran.err
    assert rows()["clean"].state is State.QUEUED
    assert run(batch).code == 0
    assert rows()["buggy"].state is State.CHANGED


def test_a_second_driver_is_refused(manifest: Path, batch: Batch) -> None:
    with Ledger.open(manifest.parent / "run"):
        ran = run(batch)
    assert ran.code == 2
    assert f"another devfix batch runs in {manifest.parent / 'run'} (process {os.getpid()})" in ran.err


def test_tiers_on_the_command_line_win_over_the_manifest(
    tmp_path: Path, batch: Batch, site: Path, manifest: Path
) -> None:
    install(site, TIERED)
    text = b"import torch\nfrom m import right, wrong\n\nwrong(1)  # safe 0.84\nwrong(2)  # suggestion 0.62\n"
    committed(tmp_path / "repos" / "tiers", {"a.py": text})
    manifest.write_text('[[repo]]\npath = "repos/tiers"\nmin-confidence = 0.9\n')
    assert run(batch).code == 0
    assert rows()["tiers"].state is State.CLEAN
    assert batch("run", "repos.toml", "--out", "run", "--min-confidence", "2").code == 2
    more = ("--suggestions", "--min-confidence", "0.5")
    assert batch("run", "repos.toml", "--out", "other", "--engine", "inline", *more).code == 0
    document = json.loads(Path("other/report.json").read_bytes())
    assert document["run"]["rules"] == "--suggestions --min-confidence 0.5"
    (repository,) = document["repositories"]
    assert [one["confidence"] for one in (*repository["fixes"], *repository["suggestions"])] == [0.84, 0.62]
