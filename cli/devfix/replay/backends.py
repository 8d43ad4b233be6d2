"""Where a replay runs: an accelerator that torch sees, a simulated one, or the plain CPU.

A backend is whatever satisfies the `Backend` protocol; nothing else in this package asks what kind of backend it has.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Protocol

import msgspec

from devfix.replay.confinement import Confinement
from devfix.replay.device_checks import DeviceChecksError, table_file
from devfix.replay.interpreter_query import QueryError, query_interpreter

ACCELERATORS = ("cuda", "xpu", "mps", "npu")
CHOICES = ("auto", *ACCELERATORS, "simulated", "cpu")

SIMULATED = "simulated"

OLDEST_SIMULATED = (2, 4)

HIDDEN: Mapping[str, str] = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ASCEND_RT_VISIBLE_DEVICES": ""}
"""Keeps runtimes from opening the accelerators that there are."""
_SIMULATED: Mapping[str, str | None] = {**HIDDEN, "CUDA_VISIBLE_DEVICES": None}
"""The same for a simulation: the machine's variable speaks of other devices. The script's own choice counts."""
_ASK_SCRIPT = Path(__file__).parent / "probe" / "ask.py"
_NO_TORCH = "torch is not installed in this interpreter; pip install 'devfix[replay]'"
_WHICH = "or name the project's interpreter with --python"


class Backend(Protocol):
    """A place to run on.

    `name` is what `--on` calls it and `title` what a sentence calls it. `environment` is added to that of the run,
    which does not inherit what is None there. `probe_options` are fields of the probe's `Config`, for a run that is
    allowed so many bytes of memory. `can_show_device_bugs` is what verdicts turn on: where it is false, a run that
    passes says nothing about devices. `is_hardware` says that a run opens the devices of the machine, and `files` are
    what the probe reads for it. `forks` says that a run can be a fork of a process that has imported torch. `note` is
    what the user ought to know of the choice.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, str | None]: ...
    @property
    def can_show_device_bugs(self) -> bool: ...
    @property
    def is_hardware(self) -> bool: ...
    @property
    def files(self) -> tuple[Path, ...]: ...
    @property
    def forks(self) -> bool: ...
    @property
    def note(self) -> str | None: ...
    def probe_options(self, memory: int) -> Mapping[str, object]: ...


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Real hardware."""

    name: str
    title: str
    environment: Mapping[str, str | None] = field(default_factory=dict)
    can_show_device_bugs: bool = True
    is_hardware: bool = True
    files: tuple[Path, ...] = ()
    note: str | None = None

    @property
    def forks(self) -> bool:
        """That CUDA is not touched by an import is known; of the others it is not."""
        return self.name == "cuda"

    def probe_options(self, memory: int) -> Mapping[str, object]:
        """None: drivers reserve far more memory than they use, so a limit on the process would be none on its use."""
        return {}


@dataclass(frozen=True, slots=True)
class Simulated:
    """`devices` CUDA devices that the script believes in; `checks` is the file with their operators' device checks."""

    checks: Path
    devices: int = 1
    name: str = "simulated"
    title: str = "a simulated accelerator"
    environment: Mapping[str, str | None] = field(default_factory=lambda: _SIMULATED)
    can_show_device_bugs: bool = True
    is_hardware: bool = False
    forks: bool = True
    note: str | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.checks,)

    def probe_options(self, memory: int) -> Mapping[str, object]:
        return {"memory": memory, "simulate": {"devices": self.devices, "checks": str(self.checks)}}


@dataclass(frozen=True, slots=True)
class PlainCpu:
    """The processor alone; accelerators that could be hidden by the environment are hidden."""

    name: str = "cpu"
    title: str = "the plain CPU"
    environment: Mapping[str, str | None] = field(default_factory=lambda: HIDDEN)
    can_show_device_bugs: bool = False
    is_hardware: bool = False
    forks: bool = True
    files: tuple[Path, ...] = ()
    note: str | None = None

    def probe_options(self, memory: int) -> Mapping[str, object]:
        return {"memory": memory}


class BackendError(Exception):
    """There is no such place to run on; the message says why."""


def select(
    on: str,
    python: str,
    devices: int = 1,
    variables: tuple[tuple[str, str], ...] = (),
    confinement: Confinement | None = None,
    seed: int = 0,
) -> Backend:
    """The backend for `--on`; `devices` is how many a simulation has, `variables` are added to the environment.

    With a `confinement` the interpreter is asked inside it.

    Without an accelerator `auto` is a simulated one, or the plain CPU with a note where this torch cannot be simulated.

    Raises:
        BackendError: the choice is unknown, torch is missing, torch sees no such accelerator, or this torch cannot be
            simulated.
    """
    if on not in CHOICES:
        raise BackendError(f"unknown place {on!r}: choose one of {', '.join(CHOICES)}")
    if on == "cpu":
        return PlainCpu()
    torch = _ask(python, variables, confinement, seed)
    if on == "auto":
        return Accelerator(torch.devices[0], torch.devices[0]) if torch.devices else _simulated_or_plain(torch, devices)
    if on == "simulated":
        return _simulated(torch, devices)
    if on not in torch.devices:
        raise BackendError(f"torch sees no {on} device here (it sees: {', '.join(torch.devices) or 'none'})")
    return Accelerator(on, on)


def _simulated_or_plain(torch: "_Torch", devices: int) -> Backend:
    try:
        return _simulated(torch, devices)
    except BackendError as error:
        return PlainCpu(note=f"replayed on the plain CPU, where few device bugs show: {error}")


def _simulated(torch: "_Torch", devices: int) -> Simulated:
    if _release(torch.version) < OLDEST_SIMULATED:
        wanted = ".".join(map(str, OLDEST_SIMULATED))
        raise BackendError(f"an accelerator cannot be simulated with torch {torch.version}: it needs {wanted} or later")
    try:
        return Simulated(table_file(Path(torch.folder), torch.version), devices)
    except DeviceChecksError as error:
        raise BackendError(f"an accelerator cannot be simulated: {error}") from error


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])


@dataclass(frozen=True, slots=True)
class _Torch:
    """The torch of an interpreter: its release, the folder of its package, and the device types that it sees."""

    version: str
    folder: str
    devices: tuple[str, ...]


@cache
def _ask(python: str, variables: tuple[tuple[str, str], ...], confinement: Confinement | None, seed: int) -> _Torch:
    try:
        answer = query_interpreter(python, _ASK_SCRIPT, dict(variables), confinement, seed)
        if answer["torch"] is None:
            raise BackendError(f"{_NO_TORCH}, {_WHICH}")
        return msgspec.convert(answer | {"version": answer["torch"]}, _Torch)
    except QueryError as error:
        raise BackendError(str(error)) from error
    except (KeyError, msgspec.ValidationError) as error:
        raise BackendError(f"{python} did not say which torch it has") from error
