"""One run of a script under the probe: its own session, its limits, and an outcome whatever happens to it."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from devfix.replay.outcomes import Deprecation, Ending, Outcome, Output, ScriptError, not_started
from devfix.replay.postmortem import PostMortem, decode
from devfix.replay.workspace import readable

HEAD_BYTES = 256 << 10
TAIL_BYTES = 8 << 10
_CHUNK = 64 << 10
_POLL_SECONDS = 0.02
_DRAIN_SECONDS = 2.0
_DISK_SECONDS = 1.0
_KILL_ROUNDS = 100
DISK_RESERVE = 256 << 20
"""A run is ended when the disk that its copy is on has less than this left, in bytes."""
_PROBE = Path(__file__).parent / "probe" / "main.py"
_TOKEN = "DEVFIX_REPLAY"

_DEFAULT_ENVIRONMENT = {"MPLBACKEND": "Agg", "WANDB_MODE": "offline"}
"""Set unless the user set them: a replay opens no window and uploads nothing."""

Tick = Callable[[], None]
"""Called many times a second while a run goes on."""


@dataclass(frozen=True, slots=True)
class Task:
    """What to run. `typed` is the script as one would type it in `cwd`; the rest is as in the probe's `Config`.

    `output_limit` and `file_limit` are in bytes: of all that is printed, and of each file that is written.
    `environment` wins over `variables`, which are the user's; what is None there is not inherited.
    """

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
    variables: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str | None] = field(default_factory=dict)
    probe_options: Mapping[str, object] = field(default_factory=dict)
    seed: int = 0
    steps: int | None = None
    audit: bool = False
    output_limit: int | None = None
    file_limit: int | None = None


def execute(task: Task, tick: Tick | None = None) -> Outcome:
    """Run `task` to its end or one of its limits. Never raises for anything that the script does.

    Every process that the run started is gone when this returns, or is left by an exception.
    """
    journal = task.control / "journal"
    config = task.control / "config.json"
    config.write_text(json.dumps(_config(task, journal)), encoding="utf-8")
    try:
        process = _start(task, config)
    except OSError as error:
        return not_started(f"{task.python} could not be started: {error.strerror}")
    return _outcome(_observe(process, task, tick or _pass), _events(journal))


def _pass() -> None:
    """Nobody watches."""


def _config(task: Task, journal: Path) -> dict[str, object]:
    return {
        "journal": str(journal),
        "root": str(task.root),
        "original": str(task.original),
        "script": str(task.script),
        "module": task.module,
        "watch": {file: list(lines) for file, lines in task.watch.items()},
        "seed": task.seed,
        "steps": task.steps,
        "audit": task.audit,
        "file_size": task.file_limit,
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
        **{name: value for name, value in os.environ.items() if task.environment.get(name, value) is not None},
        "PYTHONHASHSEED": str(task.seed),
        **task.variables,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(task.temporary),
        _TOKEN: str(task.control),
        **{name: value for name, value in task.environment.items() if value is not None},
    }


@dataclass(frozen=True, slots=True)
class _Ended:
    """What the parent itself saw. `code` is as `subprocess` gives it: negative for a signal. `limit` is in words."""

    code: int
    seconds: float
    timed_out: bool
    limit: str | None
    peak_memory: int | None
    stdout: Output
    stderr: Output


def _observe(process: subprocess.Popen[bytes], task: Task, tick: Tick) -> _Ended:
    started = time.monotonic()
    streams = [_Stream(pipe) for pipe in (process.stdout, process.stderr) if pipe is not None]
    limits = _Limits(task, streams)
    try:
        peak = None
        while peak is None and limits.passed is None and time.monotonic() < started + task.timeout:
            time.sleep(_POLL_SECONDS)
            tick()
            limits.look()
            peak = _reaped(process, os.WNOHANG)
        seconds = time.monotonic() - started
    finally:
        _kill_all(process.pid, str(task.control))
        late_peak = _reaped(process, 0)
        stdout, stderr = (stream.finish() for stream in streams)
    timed_out = peak is None and limits.passed is None
    return _Ended(process.returncode, seconds, timed_out, limits.passed, peak or late_peak, stdout, stderr)


def _reaped(process: subprocess.Popen[bytes], options: int) -> int | None:
    """The peak memory in bytes of a process that has ended; None where it has not, or was reaped already.

    `wait4` in place of `Popen.wait`, for the memory of this child and no other.
    """
    if process.returncode is not None:
        return None
    pid, status, usage = os.wait4(process.pid, options)
    if not pid:
        return None
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class _Limits:
    """What a run may print and write. `passed` says, in words, which limit it went over."""

    def __init__(self, task: Task, streams: Sequence["_Stream"]) -> None:
        self.passed: str | None = None
        self._output = task.output_limit
        self._streams = streams
        self._folder = task.root
        self._watches_disk = shutil.disk_usage(task.root).free > 2 * DISK_RESERVE
        self._next_look = 0.0

    def look(self) -> None:
        """See how far the run has gone."""
        if self._output is not None and sum(stream.size for stream in self._streams) > self._output:
            self.passed = f"printed more than {readable(self._output)}"
        elif self._watches_disk and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _DISK_SECONDS
            with contextlib.suppress(OSError):  # the script may remove its own folder
                if shutil.disk_usage(self._folder).free < DISK_RESERVE:
                    self.passed = "filled the disk"


def _kill_all(group: int, token: str) -> None:
    """End the process group, and what left it: such processes still carry our mark in their environment.

    Processes that fork faster than they are found are looked for again, for a while.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    for _ in range(_KILL_ROUNDS):
        found = list(_marked(token))
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not found:
            return


def _marked(token: str) -> Iterator[int]:
    """The processes whose environment has the mark of this run, where the system has /proc."""
    mark = f"{_TOKEN}={token}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


class _Stream:
    """Reads a pipe to its end in a thread, and keeps the first and the last of it. `size` is how much there was."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._head = bytearray()
        self._tail = bytearray()
        self.size = 0
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> Output:
        """What was read. A process that outlived us and holds the pipe open delays this by seconds at most."""
        self._thread.join(_DRAIN_SECONDS)
        if not self._thread.is_alive():
            self._pipe.close()
        return Output(_text(self._head), _text(self._tail), self.size)

    def _read(self) -> None:
        while chunk := os.read(self._pipe.fileno(), _CHUNK):
            self.size += len(chunk)
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
    ending, last = _ending(ended, events), events.get("end", [{}])[-1]
    return Outcome(
        ending,
        seconds=ended.seconds,
        status=ended.code if ended.code >= 0 else None,
        signal=_signal_name(-ended.code) if ending is Ending.KILLED else None,
        reason=ended.limit if ending is Ending.OVERRAN else None,
        peak_memory=last.get("memory") or ended.peak_memory,
        error=_error(events),
        stdout=ended.stdout,
        stderr=ended.stderr,
        reached=frozenset((event["file"], event["line"]) for event in events.get("line", ())),
        loaded=frozenset(event["file"] for event in events.get("loaded", ())),
        losses=tuple(_number(event["value"]) for event in events.get("loss", ())),
        stopped_after=next((event["steps"] for event in events.get("stopped", ())), None),
        warnings=tuple(_deprecation(event) for event in events.get("warning", ())),
        not_simulated=_once(event["what"] for event in events.get("not simulated", ())),
        notes=_once(event["text"] for event in events.get("note", ())),
        postmortem=_postmortem(events),
        audit=next((event["record"] for event in reversed(events.get("audit", []))), None),
    )


def _ending(ended: _Ended, events: Mapping[str, list[dict[str, Any]]]) -> Ending:
    """How the script itself ended, even where the interpreter then hung or crashed on its way out.

    One that we stopped has passed, whatever its handlers did afterwards; one that raised has failed.
    """
    if "stopped" in events:
        return Ending.PASSED
    if "error" in events:
        return Ending.FAILED
    if ended.limit is not None:
        return Ending.OVERRAN
    if ended.timed_out:
        return Ending.TIMED_OUT
    if ended.code < 0:
        return Ending.KILLED
    return Ending.PASSED if ended.code == 0 else Ending.FAILED


def _deprecation(event: Mapping[str, Any]) -> Deprecation:
    return Deprecation(event["category"], event["message"], event["file"], event["line"])


def _once(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


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
