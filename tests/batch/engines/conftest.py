"""A stand-in for `migrate`, which does to its process what a repository may do, and a driver for engines."""

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest
from devfix.batch.engines import Ended, Engine, Lost, Started
from devfix.batch.engines.supervising import Program
from devfix.batch.records import Job, Plan, Repository

STAND_IN = """
import ctypes, os, signal, subprocess, sys, time
from pathlib import Path
from devfix.batch.records import Outcome, State

ROOM = 1 << 20
HUGE = 100 << 20


def work(job):
    return globals()[job.repository.source](job) or outcome(job)


def outcome(job, **more):
    return Outcome(job.repository.name, State.CLEAN, **more)


def fine(job):
    pass


def note(job, *pids):
    file = Path(job.plan.folder) / f"{job.repository.name}.{os.getpid()}"
    file.write_text(" ".join(map(str, pids or [os.getpid()])))
    file.rename(f"{file}.pids")


def tells(job):
    return outcome(job, notes=(str(job.cores), str(job.attempt), *(f"{k}={v}" for k, v in os.environ.items())))


def hangs_once(job):
    if job.attempt == 1:
        note(job, os.getpid(), os.environ["RAY_RAYLET_PID"])
        time.sleep(1000)
    return tells(job)


def raises(job):
    raise ValueError("a mistake of ours")


def crashes(job):
    ctypes.string_at(0)


def leaves(job):
    print("first", "\\x1b[31mred\\x1b[0m", "last", sep="\\n", file=sys.stderr, flush=True)
    os._exit(7)


def killed(job):
    os.kill(os.getpid(), signal.SIGKILL)


def ends_in_real_time(job):
    os.kill(os.getpid(), signal.SIGRTMIN + 6)


def hangs(job):
    note(job)
    time.sleep(1000)


def deaf(job):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    hangs(job)


def tidy(job):
    try:
        hangs(job)
    except KeyboardInterrupt:
        (Path(job.plan.folder) / f"{job.repository.name}.tidied").touch()
        raise


def floods(job):
    for _ in range(20):
        os.write(2, b"x" * ROOM)


def chatters(job):
    print("{}", flush=True)
    os.write(1, b"[1, 2]")
    subprocess.run(["echo", "{}"], check=True)


def babbles(job):
    for descriptor in range(3, 32):
        try:
            os.write(descriptor, b"}{")
        except OSError:
            pass
    os._exit(0)


def huge(job, size=HUGE):
    return outcome(job, patch=bytes(range(256)) * (size >> 8))


def large(job):
    return huge(job, HUGE // 4)


def family(job):
    child = subprocess.Popen(["sleep", "1000"])
    stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
    note(job, os.getpid(), child.pid, stranger.pid)
    time.sleep(1000)


def daemon(job):
    reading, writing = os.pipe()
    if not os.fork():
        os.setsid()
        pid = os.fork()
        if pid:
            os.write(writing, str(pid).encode())
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execve("/bin/sleep", ["sleep", "1000"], {})
    note(job, int(os.read(reading, 100)))


def crashes_with_daemon(job):
    daemon(job)
    crashes(job)


def meets(job):
    note(job)
    while len(list(Path(job.plan.folder).glob("*.pids"))) < 2:
        time.sleep(0.01)
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The stand-in as a program for workers; it is asked to end once, and killed soon."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "stand_in.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return Program("stand_in:work", grace=1.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The run's, where the stand-in notes the processes that there are."""
    path = tmp_path / "run"
    path.mkdir()
    return path


JobMaker = Callable[..., Job]


@pytest.fixture
def job(folder: Path) -> JobMaker:
    """A job for the stand-in: what it does, and under which name."""

    def make(does: str, name: str = "repository", timeout: float = 300.0, execute: bool = False) -> Job:
        return Job(Plan(str(folder), "branch", "2026-01-01", execute=execute), Repository(name, does, timeout=timeout))

    return make


def drive(
    engine: Engine, jobs: Sequence[Job], attempts: int = 1, told: Started = lambda job, worker: None
) -> tuple[list[Ended], list[tuple[Job, str]]]:
    """All that ended, and all that was started and by whom. What is lost is given again, up to so many attempts."""
    waiting = deque(jobs)
    begun: list[tuple[Job, str]] = []
    ends = []

    def started(job: Job, worker: str) -> None:
        begun.append((job, worker))
        told(job, worker)

    for end in engine.run(lambda: waiting.popleft() if waiting else None, started):
        ends.append(end)
        if isinstance(end, Lost) and end.job.attempt < attempts:
            waiting.append(msgspec.structs.replace(end.job, attempt=end.job.attempt + 1))
    return ends, begun


def noted(folder: Path, files: int = 1) -> list[int]:
    """The processes that so many jobs noted, as soon as they did."""
    until = time.monotonic() + 120
    while len(found := list(folder.glob("*.pids"))) < files:
        assert time.monotonic() < until, "nothing was noted"
        time.sleep(0.02)
    return [int(pid) for file in found for pid in file.read_text().split()]


def lives(pid: int) -> bool:
    """Whether there is such a process; one that ended and was not asked for its status is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def are_gone(pids: Sequence[int], seconds: float = 60) -> bool:
    """Whether all of them end within that time."""
    until = time.monotonic() + seconds
    while any(map(lives, pids)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
