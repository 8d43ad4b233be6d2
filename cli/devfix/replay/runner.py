"""One run of a script under the probe: its own session, its limits, and an outcome whatever happens to it."""

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from devfix.replay.outcomes import Ending, Outcome, Output, ScriptError, not_started
from devfix.replay.postmortem import PostMortem, decode

HEAD_BYTES = 256 << 10
TAIL_BYTES = 8 << 10
_CHUNK = 64 << 10
_POLL_SECONDS = 0.02
_DRAIN_SECONDS = 2.0
_PROBE = Path(__file__).parent / "probe" / "main.py"
_TOKEN = "DEVFIX_REPLAY"

_DEFAULT_ENVIRONMENT = {"MPLBACKEND": "Agg", "WANDB_MODE": "offline"}
"""Set unless the user set them: a replay opens no window and uploads nothing."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to run. `typed` is the script as one would type it in `cwd`; the rest is as in the probe's `Config`."""

    python: str
    root: Path
    original: Path
    script: Path
    typed: str
    cwd: Path
    control: Path
    temporary: Path
    timeout: float
    module: str | None = None
    arguments: tuple[str, ...] = ()
    watch: Mapping[str, Sequence[int]] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    probe_options: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0


def execute(task: Task) -> Outcome:
    """Run `task` to its end or its time limit. Never raises for anything that the script does.

    Every process that the run started is gone when this returns, or is left by an exception.
    """
    journal = task.control / "journal"
    config = task.control / "config.json"
    config.write_text(json.dumps(_config(task, journal)), encoding="utf-8")
    try:
        process = _start(task, config)
    except OSError as error:
        return not_started(f"{task.python} could not be started: {error.strerror}")
    return _outcome(_observe(process, task), _events(journal))


def _config(task: Task, journal: Path) -> dict[str, object]:
    return {
        "journal": str(journal),
        "root": str(task.root),
        "original": str(task.original),
        "script": str(task.script),
        "module": task.module,
        "watch": {file: list(lines) for file, lines in task.watch.items()},
        "seed": task.seed,
        **task.probe_options,
    }


def _start(task: Task, config: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [task.python, str(_PROBE), str(config), task.typed, *task.arguments],
        cwd=task.cwd,
        env=_environment(task),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def _environment(task: Task) -> dict[str, str]:
    return {
        **_DEFAULT_ENVIRONMENT,
        **os.environ,
        "PYTHONHASHSEED": str(task.seed),
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(task.temporary),
        _TOKEN: str(task.control),
        **task.environment,
    }


@dataclass(frozen=True, slots=True)
class _Ended:
    """What the parent itself saw. `code` is as `subprocess` gives it: negative for a signal."""

    code: int
    seconds: float
    timed_out: bool
    peak_memory: int | None
    stdout: Output
    stderr: Output


def _observe(process: subprocess.Popen[bytes], task: Task) -> _Ended:
    started = time.monotonic()
    streams = [_Stream(pipe) for pipe in (process.stdout, process.stderr) if pipe is not None]
    try:
        peak = _wait(process, started + task.timeout)
        seconds = time.monotonic() - started
    finally:
        _kill_all(process.pid, str(task.control))
        late_peak = _wait(process, None)
        stdout, stderr = (stream.finish() for stream in streams)
    return _Ended(process.returncode, seconds, peak is None, peak or late_peak, stdout, stderr)


def _wait(process: subprocess.Popen[bytes], deadline: float | None) -> int | None:
    """Wait for the process to end and return its peak memory in bytes; None at the deadline, or if reaped already.

    `wait4` in place of `Popen.wait`, for the memory of this child and no other.
    """
    while process.returncode is None:
        pid, status, usage = os.wait4(process.pid, 0 if deadline is None else os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        if deadline is not None and time.monotonic() >= deadline:
            return None
        time.sleep(_POLL_SECONDS)
    return None


def _kill_all(group: int, token: str) -> None:
    """End the process group, and what left it: such processes still carry our mark in their environment."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for pid in _marked(token):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _marked(token: str) -> Iterator[int]:
    """The processes whose environment has the mark of this run, where the system has /proc."""
    mark = f"{_TOKEN}={token}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


class _Stream:
    """Reads a pipe to its end in a thread, and keeps the first and the last of it."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._head = bytearray()
        self._tail = bytearray()
        self._size = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> Output:
        """What was read. A process that outlived us and holds the pipe open delays this by seconds at most."""
        self._thread.join(_DRAIN_SECONDS)
        if not self._thread.is_alive():
            self._pipe.close()
        return Output(_text(self._head), _text(self._tail), self._size)

    def _read(self) -> None:
        while chunk := os.read(self._pipe.fileno(), _CHUNK):
            self._size += len(chunk)
            self._head += chunk[: HEAD_BYTES - len(self._head)]
            self._tail = (self._tail + chunk)[-TAIL_BYTES:]


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")


def _events(journal: Path) -> dict[str, list[dict[str, Any]]]:
    """The journal's events by name. A line that a kill cut short is left out."""
    events: dict[str, list[dict[str, Any]]] = {}
    with contextlib.suppress(FileNotFoundError):
        for line in journal.read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                events.setdefault(event["event"], []).append(event)
    return events


def _outcome(ended: _Ended, events: Mapping[str, list[dict[str, Any]]]) -> Outcome:
    ending, last = _ending(ended, "error" in events), events.get("end", [{}])[-1]
    return Outcome(
        ending,
        seconds=ended.seconds,
        status=ended.code if ended.code >= 0 else None,
        signal=_signal_name(-ended.code) if ending is Ending.KILLED else None,
        peak_memory=last.get("memory") or ended.peak_memory,
        error=_error(events),
        stdout=ended.stdout,
        stderr=ended.stderr,
        reached=frozenset((event["file"], event["line"]) for event in events.get("line", ())),
        losses=tuple(_number(event["value"]) for event in events.get("loss", ())),
        postmortem=_postmortem(events),
    )


def _ending(ended: _Ended, raised: bool) -> Ending:
    """An exception counts as the end even where the interpreter then hung or crashed on its way out."""
    if raised:
        return Ending.FAILED
    if ended.timed_out:
        return Ending.TIMED_OUT
    if ended.code < 0:
        return Ending.KILLED
    return Ending.PASSED if ended.code == 0 else Ending.FAILED


def _error(events: Mapping[str, list[dict[str, Any]]]) -> ScriptError | None:
    for event in events.get("error", ()):
        return ScriptError(event["type"], event["message"], event["file"], event["line"], event["device"])
    return None


def _postmortem(events: Mapping[str, list[dict[str, Any]]]) -> PostMortem | None:
    return next((decode(event.get("postmortem")) for event in events.get("error", ())), None)


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
