"""The accelerators of this machine, one for each worker that executes code.

torch is not asked: it would open them itself, in a process that has no use for them.
"""

import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from devfix.batch.records import Job
from devfix.errors import UsageError, close_match
from devfix.replay.backends import HIDDEN

AUTO = "auto"
NONE = "none"
_ASK_SECONDS = 20.0
_VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "cuda": "CUDA_VISIBLE_DEVICES",
        "hip": "HIP_VISIBLE_DEVICES",
        "xpu": "ZE_AFFINITY_MASK",
        "npu": "ASCEND_RT_VISIBLE_DEVICES",
    }
)
"""What each vendor's runtime reads: the devices that a process may see."""
_KINDS = (*_VARIABLES, "mps")
_DEVICE = re.compile(r"[\w./-]+", re.ASCII)
_VISIBLE = re.compile(r"\d[\w.]*|(?:GPU|MIG)-[\w/-]+", re.ASCII)
"""A device in such a variable: a number or a UUID, no word as the `NoDevFiles` of Slurm, which is for none."""
_GPU = re.compile(r"GPU (\d+): ")
_MIG = re.compile(r"\s+MIG .*\(UUID: (MIG-[\w/-]+)\)")


@dataclass(frozen=True, slots=True)
class Slot:
    """An accelerator for one worker at a time. `device` is what its runtime calls it: a number or a UUID."""

    kind: str
    device: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.device}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What shows this accelerator to a process, and no other."""
        own = _VARIABLES.get(self.kind)
        shared = {"CUDA_VISIBLE_DEVICES"} if self.kind == "hip" else set()  # which HIP reads as well
        hidden = {variable: nothing for variable, nothing in HIDDEN.items() if variable not in shared}
        return {**hidden, own: self.device} if own else hidden


def environment(job: Job, slot: Slot | None) -> tuple[tuple[str, str], ...]:
    """What a worker of this machine is to know of the accelerators. One that has no slot is shown none."""
    if not executes(job):
        return job.environment
    return tuple((slot.environment if slot else HIDDEN).items())


def executes(job: Job) -> bool:
    """Whether code of the repository may run, so that an accelerator is of use."""
    return job.plan.execute


def slots(choice: str = AUTO) -> tuple[Slot, ...]:
    """The slots that `--accelerators` asks for: `auto`, `none`, or a list such as `cuda:0,cuda:1`.

    One that is named twice takes two workers at a time.

    Raises:
        UsageError: the list cannot be read.
    """
    if choice == NONE:
        return ()
    if choice == AUTO:
        return tuple(Slot(kind, device) for kind, find in _FINDERS.items() for device in find())
    return tuple(_named(part.strip()) for part in choice.split(","))


def _named(text: str) -> Slot:
    kind, _, device = text.partition(":")
    if kind not in _KINDS:
        raise UsageError(
            f"--accelerators: unknown kind {kind!r}{close_match(kind, (*_KINDS, AUTO, NONE))} "
            f"(auto, none, or a list such as cuda:0,cuda:1 of {', '.join(_KINDS)})"
        )
    if not _DEVICE.fullmatch(device):
        raise UsageError(f"--accelerators: {text!r} names no device: write {kind}:0, or {kind}:0,{kind}:1 for two")
    return Slot(kind, device)


def _cuda() -> Iterable[str]:
    chosen = None if _has_hip() else _chosen("CUDA_VISIBLE_DEVICES")
    if chosen is not None:
        return chosen
    return nvidia_devices(_said("nvidia-smi", "-L")) or _numbers(Path("/dev"), "nvidia")


def nvidia_devices(listing: str) -> list[str]:
    """What `nvidia-smi -L` lists: the numbers of whole GPUs, and the UUIDs of the instances of one that is divided."""
    devices: list[str] = []
    whole = False
    for line in listing.splitlines():
        if gpu := _GPU.match(line):
            devices.append(gpu[1])
            whole = True
        elif instance := _MIG.match(line):
            if whole:
                devices.pop()
                whole = False
            devices.append(instance[1])
    return devices


def _hip() -> Iterable[str]:
    """AMD. The devices of ROCR_VISIBLE_DEVICES are numbered anew (rocm.docs.amd.com, "GPU isolation techniques")."""
    if not _has_hip():
        return []
    for variable in ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        chosen = _chosen(variable)
        if chosen is not None:
            return chosen
    count = _chosen("ROCR_VISIBLE_DEVICES")
    if count is None:
        count = [
            file.parent.name for file in Path("/sys/class/kfd/kfd/topology/nodes").glob("*/gpu_id") if _is_gpu(file)
        ]
    return map(str, range(len(count)))


def _has_hip() -> bool:
    return Path("/dev/kfd").exists()


def _is_gpu(file: Path) -> bool:
    """A node of the topology that is no processor."""
    with suppress(OSError):
        return file.read_text(encoding="ascii", errors="replace").strip() not in ("", "0")
    return False


def _xpu() -> Iterable[str]:
    chosen = _chosen("ZE_AFFINITY_MASK")
    if chosen is not None:
        return chosen
    # `--dump 1`: a table of the devices' numbers alone, with its heading.
    return [
        line.strip() for line in _said("xpu-smi", "discovery", "--dump", "1").splitlines() if line.strip().isdigit()
    ]


def _npu() -> Iterable[str]:
    chosen = _chosen("ASCEND_RT_VISIBLE_DEVICES")
    return _numbers(Path("/dev"), "davinci") if chosen is None else chosen


def _mps() -> Iterable[str]:
    return ["0"] if sys.platform == "darwin" and platform.machine() == "arm64" else []


_FINDERS: Mapping[str, Callable[[], Iterable[str]]] = MappingProxyType(
    {"cuda": _cuda, "hip": _hip, "xpu": _xpu, "npu": _npu, "mps": _mps}
)


def _chosen(variable: str) -> list[str] | None:
    """The devices that the user's environment leaves; what follows one that cannot be is not seen, as with CUDA."""
    value = os.environ.get(variable)
    if value is None:
        return None
    devices = []
    for part in value.split(","):
        if not _VISIBLE.fullmatch(part.strip()):
            break
        devices.append(part.strip())
    return devices


def _said(*command: str) -> str:
    """What a vendor's tool prints; nothing where it is not there or does not work."""
    with suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ASK_SECONDS,
            check=True,
            text=True,
            errors="replace",
        )
        return done.stdout
    return ""


def _numbers(folder: Path, name: str) -> list[str]:
    """The numbers of the device files of that name."""
    names = (file.name.removeprefix(name) for file in folder.glob(f"{name}[0-9]*"))
    return sorted((number for number in names if number.isdigit()), key=int)
