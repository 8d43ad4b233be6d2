"""What the simulated accelerator is at the moment: how many devices, which is current, whether it was used."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from .claims import HOST, Claim, interned
from .policy import PlacementPolicy

_Device = torch.device


# A value that goes to and fro in a loop would otherwise keep a claim for each move.
_HISTORY = 16


class NotSimulated(RuntimeError):  # noqa: N818 - it says what it is, in tracebacks too
    """Something that the simulation cannot do. Its message begins with "not simulated: "."""


def _unreported(_what: str) -> None:
    """Tell nobody."""


class _PerThread(threading.local):
    current = 0


@dataclass
class Simulation:
    """The accelerator that the script believes in.

    `kind` is its device type and `devices` how many of it there are. `inside` says whether a file belongs to the user's
    tree. `report` is told of each thing that is not simulated, `note` of what runs in another way than on hardware.
    `initialised` and `forked` are as in `torch.cuda`: whether a context exists, and whether this process is a fork of
    one where it did. `create_context` is what the first use of a device runs. `refused` are the arguments, by name, of
    the operation that was refused last. `policy` is where values live of which the script says nothing.
    """

    kind: str = "cuda"
    devices: int = 1
    inside: Callable[[str], bool] = lambda file: False
    report: Callable[[str], None] = _unreported
    note: Callable[[str], None] = _unreported
    initialised: bool = False
    forked: bool = False
    default_kind: str = "cpu"
    generators: dict[int, torch.Tensor] = field(default_factory=dict)
    refused: list[tuple[str, torch.Tensor]] = field(default_factory=list)
    version: tuple[int, int] = field(default_factory=lambda: _version(torch.__version__))
    create_context: Callable[[], None] | None = None
    policy: PlacementPolicy = field(default_factory=PlacementPolicy)
    _owners: dict[CodeType, bool] = field(default_factory=dict)
    _thread: _PerThread = field(default_factory=_PerThread)

    @property
    def current(self) -> int:
        """The index of the current device, of which each thread has its own."""
        return self._thread.current

    @current.setter
    def current(self, index: int) -> None:
        self._thread.current = index

    def refuse(self, what: str) -> NotSimulated:
        """The exception for `what`, which the journal then knows of even if the script swallows it. Raise it."""
        self.report(what)
        return NotSimulated(f"not simulated: {what}")

    def resolve(self, device: Any) -> torch.device:
        """The interned place that `device` (a device, a string, an ordinal) names, its index filled in.

        Raises:
            RuntimeError: there is no such device, in the words of CUDA.
        """
        place: Any = device if type(device) is _Device else _Device(_named(device, self.kind))
        if place.type != self.kind:
            return HOST if place.type == "cpu" else interned(place)
        self.initialise()
        index = self.current if place.index is None else place.index
        if index >= self.devices:
            raise invalid_ordinal()
        return interned(_Device(self.kind, index))

    def initialise(self) -> None:
        """Create the context, as the first use of a device does.

        Raises:
            RuntimeError: this process was forked from one that has a context.
        """
        if self.forked:
            raise RuntimeError(
                "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
                "'spawn' start method"
            )
        if not self.initialised:
            if self.create_context is not None:
                self.create_context()
            self.initialised = True

    def default_place(self) -> torch.device:
        """Where tensors are made if nothing else is said. `torch.utils._device` says it for a `DeviceContext`."""
        return self.policy.birthplace(HOST) if self.default_kind == "cpu" else self.resolve(self.default_kind)

    def is_device(self, place: torch.device) -> bool:
        return place.type == self.kind

    def claim(self, place: torch.device, how: str, before: Claim | None = None) -> Claim:
        """A claim made at the user's line that is running now. `place` is interned. Long histories lose their start."""
        _shorten(before)
        frame = self.user_frame()
        kind = self.policy.claim_type(place)
        if frame is None:
            return kind(place, how, None, None, before)
        return kind(place, how, frame.f_code.co_filename, frame.f_lineno, before)

    def user_frame(self) -> FrameType | None:
        """The innermost frame of the user's own code."""
        frame: FrameType | None = sys._getframe(1)
        owners = self._owners
        while frame is not None:
            code = frame.f_code
            owned = owners.get(code)
            if owned is None:
                owned = owners[code] = self.inside(code.co_filename)
            if owned:
                return frame
            frame = frame.f_back
        return None


def _shorten(claim: Claim | None) -> None:
    for _ in range(_HISTORY):
        if claim is None:
            return
        claim = claim.before
    if claim is not None:
        claim.before = None


def invalid_ordinal() -> RuntimeError:
    """What CUDA raises where a device is asked for that it does not have."""
    return cuda_error("invalid device ordinal", 101)


def cuda_error(what: str, code: int) -> RuntimeError:
    """An error of the CUDA runtime; `code` is its `cudaError_t`."""
    text = (
        f"CUDA error: {what}\n"
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
        "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
        "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
    )
    error: RuntimeError = getattr(torch, "AcceleratorError", RuntimeError)(text)
    error.error_code = code  # type: ignore[attr-defined]
    return error


def _named(device: Any, kind: str) -> Any:
    return f"{kind}:{device}" if isinstance(device, int) else device


def _version(text: str) -> tuple[int, int]:
    major, minor = text.split(".")[:2]
    return int(major), int(minor)
