"""A repository that tries to get out of a run, from the command line to the report."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from devfix.__main__ import main

from .git_repositories import committed

pytestmark = pytest.mark.usefixtures("bubblewrap")

MARKUP = "<script>alert(1)</script>"
BUGGY = f"""import torch

scaler = torch.cuda.amp.GradScaler()
print("\\x1b]0;owned\\x07\\x1b[31m{MARKUP}")
raise SystemExit("\\x1b[2J{MARKUP} @everyone")
"""
SCRIPT = """
import os, pathlib, signal, socket, subprocess, sys, time

def write(place):
    pathlib.Path(place, "canary").write_text("here")

def link(place):
    os.symlink(place, "way")
    pathlib.Path("way", "canary").write_text("here")

def read(place):
    pathlib.Path(place, "secret").read_text()

def environment(name):
    os.environ[name]

def connect(port):
    socket.create_connection(("127.0.0.1", int(port)), 5).close()

def kill(pid):
    os.kill(int(pid), 0)

def outlive(place):
    code = f"import time; time.sleep(1); open({place!r} + '/canary', 'w')"
    subprocess.Popen([sys.executable, "-c", code], start_new_session=True)

def fork(most):
    for number in range(int(most)):
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
    if int(most) > 5:
        time.sleep(30)  # until it is ended: what is gone before anybody looks is over no limit

def fill(most):
    with open("large", "wb") as stream:
        for _ in range(int(most)):
            stream.write(bytes(1 << 20))
    time.sleep(30)

try:
    globals()[sys.argv[1]](sys.argv[2])
finally:
    signal.alarm(60)
"""


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home, with something to read."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "secret").write_text("mine")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SECRET_TOKEN", "mine")
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def tricks(outside: Path, port: int, tmp_path: Path) -> list[str]:
    """Commands that succeed where they get out."""
    own = f'"{sys.executable}" trick.py'
    pid = Path("/proc/self/stat").read_text().split()[0]
    return [
        f"{own} write {outside}",
        f"{own} link {outside}",
        f"{own} read {outside}",
        f"{own} environment SECRET_TOKEN",
        f"{own} connect {port}",
        f"{own} kill {pid}",
    ]


def run_over(tmp_path: Path, checks: list[str], *more: str, limits: str = "") -> int:
    committed(tmp_path / "repo", {"train.py": BUGGY.encode(), "trick.py": SCRIPT.encode()})
    text = f'[[repo]]\npath = "repo"\nchecks = {json.dumps(checks)}\n[repo.replay]\non = "cpu"\n{limits}\n'
    (tmp_path / "repos.toml").write_text(text)
    return main(("batch", "run", "repos.toml", "--out", "run", "--engine", "inline", "--replay", *more))


def passed(tmp_path: Path) -> list[bool]:
    """Whether each check got out, before the fixes and after."""
    result = json.loads((tmp_path / "run" / "results" / "repo.json").read_bytes())
    assert result["state"] == "changed", result
    return [check[when] for check in result["checks"] for when in ("passed_before", "passed_after")]


def test_no_trick_gets_out(tmp_path: Path, outside: Path, tricks: list[str]) -> None:
    own = f'"{sys.executable}" trick.py'
    tricks.append(f"{own} outlive {outside}; sleep 2; test -e {outside}/canary")
    tricks.append(f"{own} write {tmp_path / 'run'}; false")  # a private folder may have that name
    assert run_over(tmp_path, tricks) == 0
    assert passed(tmp_path) == [False] * len(tricks) * 2
    time.sleep(1.5)
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert not (tmp_path / "run" / "canary").exists()


def test_without_a_sandbox_they_would(
    tmp_path: Path, outside: Path, tricks: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the same commands succeed where the code is trusted."""
    for module in ("devfix.replay.confinement", "devfix.batch.migration.verification"):
        monkeypatch.setattr(f"{module}.find_confinement", lambda *_: "there is none")
    assert run_over(tmp_path, tricks, "--trust-code") == 0
    assert passed(tmp_path) == [True] * len(tricks) * 2
    assert (outside / "canary").exists()


def test_what_never_ends_is_ended(tmp_path: Path, outside: Path) -> None:
    own = f'"{sys.executable}" trick.py'
    checks = [f"{own} fork 500", f"{own} fill 200", f"{own} fork 5"]
    assert run_over(tmp_path, checks, limits='processes = 40\ndisk = "20MiB"') == 0
    assert passed(tmp_path) == [False] * 4 + [True] * 2
    result = json.loads((tmp_path / "run" / "results" / "repo.json").read_bytes())
    fork, fill, _ = (check["before"] for check in result["checks"])
    assert "over a limit" in fork
    assert "over a limit" in fill


def test_what_it_prints_reaches_neither_terminal_nor_page(
    tmp_path: Path, outside: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    check = f"printf '\\033[31m{MARKUP}'; exit 3"
    assert run_over(tmp_path, [check]) == 0
    assert main(("batch", "status", "run")) == 0
    out, err = capfd.readouterr()
    assert "\x1b" not in out + err
    written = [*(tmp_path / "run" / "report").rglob("*.html"), tmp_path / "run" / "report.md"]
    assert len(written) == 3
    for path in written:
        text = path.read_text()
        assert MARKUP not in text, path
        assert "\x1b" not in text, path
    body = json.loads((tmp_path / "run" / "results" / "repo.json").read_bytes())["body"]
    assert "@everyone" not in body + (tmp_path / "run" / "report.md").read_text()
    assert any("alert(1)" in path.read_text() for path in written)
