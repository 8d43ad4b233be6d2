"""Where a replay runs: an accelerator that torch sees, or the plain CPU.

A backend is whatever satisfies the `Backend` protocol. One that lets device bugs show without hardware is added by
implementing it and naming it in `select`; nothing else in this package asks what kind of backend it has.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

ACCELERATORS = ("cuda", "xpu", "mps", "npu")
CHOICES = ("auto", *ACCELERATORS, "cpu")

_ASK = Path(__file__).parent / "probe" / "ask.py"
_ASK_SECONDS = 120
_NO_TORCH = "torch is not installed in this interpreter; pip install 'devfix[replay]'"


class Backend(Protocol):
    """A place to run on.

    `name` is what `--on` calls it and `title` what a sentence calls it. `environment` is added to that of the run and
    `probe_options` are fields of the probe's `Config`, for a run that is allowed so many bytes of memory.
    `can_show_device_bugs` is what verdicts turn on: where it is false, a run that passes says nothing about devices.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def can_show_device_bugs(self) -> bool: ...
    def probe_options(self, memory: int) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Real hardware."""

    name: str
    title: str
    environment: Mapping[str, str] = field(default_factory=dict)
    can_show_device_bugs: bool = True

    def probe_options(self, memory: int) -> Mapping[str, object]:
        """None: drivers reserve far more memory than they use, so a limit on the process would be none on its use."""
        return {}


@dataclass(frozen=True, slots=True)
class PlainCpu:
    """The processor alone; accelerators that could be hidden by the environment are hidden."""

    name: str = "cpu"
    title: str = "the plain CPU"
    environment: Mapping[str, str] = field(
        default_factory=lambda: {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ASCEND_RT_VISIBLE_DEVICES": ""}
    )
    can_show_device_bugs: bool = False

    def probe_options(self, memory: int) -> Mapping[str, object]:
        return {"memory": memory}


class BackendError(Exception):
    """There is no such place to run on; the message says why."""


def select(on: str, python: str) -> Backend:
    """The backend for `--on`.

    Raises:
        BackendError: the choice is unknown, torch is missing, or torch sees no such accelerator.
    """
    if on not in CHOICES:
        raise BackendError(f"unknown place {on!r}: choose one of {', '.join(CHOICES)}")
    if on == "cpu":
        return PlainCpu()
    seen = _seen(python)
    if on == "auto":
        return Accelerator(seen[0], seen[0]) if seen else PlainCpu()
    if on not in seen:
        raise BackendError(f"torch sees no {on} device here (it sees: {', '.join(seen) or 'none'})")
    return Accelerator(on, on)


def _seen(python: str) -> list[str]:
    try:
        done = subprocess.run(
            [python, str(_ASK)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_ASK_SECONDS,
            check=False,
        )
    except OSError as error:
        raise BackendError(f"{python} could not be started: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise BackendError(f"torch did not say within {_ASK_SECONDS} s which devices it sees") from error
    return _devices(done.stdout, done.stderr)


def _devices(stdout: str, stderr: str) -> list[str]:
    try:
        answer = json.loads(stdout.strip().rpartition("\n")[2])
        torch, devices = answer["torch"], list(answer["devices"])
    except (ValueError, KeyError, TypeError) as error:
        raise BackendError(f"torch cannot be imported: {stderr.strip().rpartition(chr(10))[2]}") from error
    if torch is None:
        raise BackendError(_NO_TORCH)
    return devices
