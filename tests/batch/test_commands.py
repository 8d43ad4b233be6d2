"""The project's own commands: how they end, and what they can touch."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.batch.migration.commands import CommandLimits, CommandResult, Surroundings, run_command
from devfix.replay.confinement import Allowance, Bubblewrap

Run = Callable[..., CommandResult]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def run(folder: Path, bubblewrap: Bubblewrap) -> Run:
    """Run a command in the tree, which it can write to, confined unless `confined` is False."""

    def run(command: str, confined: bool = True, **limits: object) -> CommandResult:
        where = Surroundings(folder, (folder,), folder.parent / "tmp", environment={"MINE": "a b"})
        chosen = CommandLimits(**{"timeout": 60, **limits})  # type: ignore[arg-type]
        return run_command(command, where, chosen, bubblewrap if confined else None)

    return run


@pytest.mark.parametrize("confined", [True, False])
def test_a_confined_command_writes_to_its_tree_alone(run: Run, folder: Path, confined: bool) -> None:
    run(f"echo > inside; echo > {folder.parent}/outside", confined)
    assert (folder / "inside").exists()
    assert (folder.parent / "outside").exists() != confined


@pytest.mark.parametrize("confined", [True, False])
def test_a_confined_command_has_no_secrets(run: Run, monkeypatch: pytest.MonkeyPatch, confined: bool) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "the token")
    told = run('echo "$GITHUB_TOKEN|$MINE"', confined).stdout.head
    assert told == ("|a b\n" if confined else "the token|a b\n")


@pytest.mark.parametrize("confined", [True, False])
def test_a_command_works_in_its_own_repository_where_a_hook_started_it(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, confined: bool
) -> None:
    subprocess.run(["git", "init", "-q", str(folder.parent / "other")], check=True)
    for name, value in (("GIT_DIR", ".git"), ("GIT_INDEX_FILE", ".git/index"), ("GIT_WORK_TREE", ".")):
        monkeypatch.setenv(name, str(folder.parent / "other" / value))
    run("git init -q && echo > mine && git add mine", confined)
    assert (folder / ".git" / "index").exists()
    assert not (folder.parent / "other" / ".git" / "index").exists()


def test_an_environment_has_its_own_python(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHOME", "/nowhere")
    for venv, told in ((None, "/nowhere\n"), (folder / "venv", "\n")):
        where = Surroundings(folder, (folder,), folder.parent / "tmp", venv=venv)
        assert run_command('echo "$PYTHONHOME"', where, CommandLimits(timeout=60), None).stdout.head == told


@pytest.mark.parametrize("confined", [True, False])
@pytest.mark.parametrize(
    ("command", "code", "ending"),
    [
        ("true", 0, "passed"),
        ("cd . && false", 1, "exit status 1"),
        ("exit 200", 200, "exit status 200"),
        ("kill -9 $$", 137, "exit status 137 (SIGKILL)"),
        ("sh -c 'kill -9 $$'; exit $?", 137, "exit status 137 (SIGKILL)"),
        ("nonesuch", 127, "exit status 127"),
        ("if", 2, "exit status 2"),
    ],
)
def test_how_a_command_ends(run: Run, command: str, code: int, ending: str, confined: bool) -> None:
    ran = run(command, confined)
    assert (ran.code, ran.ending, ran.passed) == (code, ending, code == 0), ran.stderr.tail


@pytest.mark.parametrize("confined", [True, False])
def test_what_is_printed_is_kept(run: Run, confined: bool) -> None:
    ran = run("echo out; echo err >&2", confined)
    assert (ran.stdout.head, ran.stderr.head) == ("out\n", "err\n")


@pytest.mark.parametrize("confined", [True, False])
def test_a_command_that_hangs_is_ended(run: Run, confined: bool) -> None:
    ran = run("trap '' TERM; sleep 60 & sleep 60", confined, timeout=1)
    assert (ran.code, ran.ending) == (None, "was not done after 1 s")
    assert ran.seconds < 30


@pytest.mark.parametrize("confined", [True, False])
def test_a_command_is_held_to_its_limits(run: Run, confined: bool) -> None:
    assert run("yes", confined, output=1 << 20).ending == "went over a limit: printed more than 1.0 MiB"
    assert run("head -c 4000000 /dev/zero > file", confined, file=1 << 20).code == 128 + 25
    assert run("python3 -c 'bytearray(500 << 20)'", confined, memory=200 << 20).code == 1
    assert run("python3 -c 'bytearray(500 << 20)'", confined).passed


def test_a_confined_command_is_held_to_the_limits_of_all_processes(run: Run) -> None:
    ran = run("for i in $(seq 100); do sleep 9 & done; wait", allowance=Allowance(processes=20))
    assert ran.ending == "went over a limit: had more than 20 processes"
    ran = run("head -c 50000000 /dev/urandom > file; sleep 30", allowance=Allowance(disk=10 << 20))
    assert ran.ending == "went over a limit: wrote more than 10 MiB"


def test_a_virtual_environment_is_used_and_cannot_be_changed_afterwards(folder: Path, bubblewrap: Bubblewrap) -> None:
    venv = folder.parent / "venv"

    def run(command: str, *writable: Path) -> CommandResult:
        where = Surroundings(folder, (folder, *writable), folder.parent / "tmp", readable=(venv,), venv=venv)
        return run_command(command, where, CommandLimits(timeout=60), bubblewrap)

    venv.mkdir()
    made = (
        f"{sys.executable} -m venv --without-pip {venv} && cd {venv}/lib/python3*/site-packages && echo 'x = 5' > m.py"
    )
    ran = run(made, venv)
    assert ran.passed, ran.stderr.tail
    assert run("python -c 'import m, sys; print(m.x, sys.prefix)'").stdout.head == f"5 {venv}\n"
    assert run("echo > $VIRTUAL_ENV/mine").code == 2
    assert run("echo > $VIRTUAL_ENV/mine", venv).passed


def test_a_command_that_cannot_start_is_told(folder: Path, bubblewrap: Bubblewrap) -> None:
    where = Surroundings(folder / "nowhere", (folder,), folder.parent / "tmp")
    confined = run_command("true", where, CommandLimits(), bubblewrap)
    assert confined.code is None
    assert "nowhere: No such file or directory" in confined.ending
    free = run_command("true", where, CommandLimits(), None)
    assert (free.code, free.ending) == (None, "/bin/sh could not be started: No such file or directory")
