"""What the simulated device is, and what a CUDA build of this torch would say of itself."""

from __future__ import annotations

import platform
from typing import Any

import torch

CAPABILITY = (8, 0)
"""Compute capability: a device that has bfloat16 and TF32 and that every release since 2.4 has kernels for."""

TOTAL_MEMORY = 80 * 2**30
"""Bytes. What a script can allocate is limited by the host's memory, not by this."""

NAME = "Simulated CUDA device"

_CUDA_RELEASES = {
    (2, 4): "12.1",
    (2, 5): "12.4",
    (2, 6): "12.4",
    (2, 7): "12.6",
    (2, 8): "12.8",
    (2, 9): "12.8",
    (2, 10): "12.8",
}
_LATER_CUDA_RELEASE = "13.0"
"""The CUDA release of the wheels on PyPI, by torch release: the stable one of the "Release Compatibility Matrix" in
torch's RELEASE.md; for later releases one that wheels exist for."""

_ARCHITECTURES = (50, 60, 70, 75, 80, 86, 90)
"""Of the CUDA wheels up to torch 2.7; later releases list theirs in `torch.cuda.PYTORCH_RELEASES_CODE_CC`."""


class DeviceProperties:
    """What `torch.cuda.get_device_properties` returns; beside capability and memory the numbers of an A100."""

    name = NAME
    major, minor = CAPABILITY
    total_memory = TOTAL_MEMORY
    multi_processor_count = 108
    is_integrated = 0
    is_multi_gpu_board = 0
    max_threads_per_multi_processor = 2048
    max_threads_per_block = 1024
    warp_size = 32
    regs_per_multiprocessor = 65536
    shared_memory_per_block = 49152
    shared_memory_per_block_optin = 166912
    shared_memory_per_multiprocessor = 167936
    L2_cache_size = 40 * 2**20
    clock_rate = 1_410_000
    memory_clock_rate = 1_593_000
    memory_bus_width = 5120
    gcnArchName = NAME  # noqa: N815 - torch's name
    pci_domain_id = pci_device_id = 0

    def __init__(self, index: int) -> None:
        self.pci_bus_id = index
        self.uuid = f"00000000-0000-0000-0000-{index:012d}"

    def __repr__(self) -> str:
        memory = self.total_memory // 2**20
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={memory}MB, multi_processor_count={self.multi_processor_count}, uuid={self.uuid}, "
            f"pci_bus_id={self.pci_bus_id}, pci_device_id={self.pci_device_id}, pci_domain_id={self.pci_domain_id}, "
            f"L2_cache_size={self.L2_cache_size // 2**20}MB)"
        )


_made: dict[int, DeviceProperties] = {}


def of_device(index: int) -> DeviceProperties:
    """The properties of device `index`: one object for each, as CUDA has."""
    return _made.setdefault(index, DeviceProperties(index))


def cuda_release() -> str:
    """The CUDA release that this torch's CUDA wheel was built with, as `torch.version.cuda` has it."""
    major, minor = torch.__version__.split(".")[:2]
    return _CUDA_RELEASES.get((int(major), int(minor)), _LATER_CUDA_RELEASE)


def runtime_number(release: Any) -> int:
    """A CUDA release as the runtime numbers it: 12.8 is 12080."""
    major, minor = str(release).split(".")[:2]
    return int(major) * 1000 + int(minor) * 10


def architectures() -> str:
    """The architectures that this torch's CUDA wheel has kernels for, as `sm_80 sm_86`."""
    releases = getattr(torch.cuda, "PYTORCH_RELEASES_CODE_CC", {})
    listed = releases.get(torch.version.cuda, _ARCHITECTURES)
    if isinstance(listed, dict):
        listed = listed.get(platform.machine(), _ARCHITECTURES)
    return " ".join(f"sm_{number}" for number in sorted(listed))


def cudnn_release() -> tuple[int, int, int]:
    """The cuDNN release that came with this torch."""
    if torch.__version__.startswith(("2.4.", "2.5.", "2.6.")):
        return (9, 1, 0)
    return (9, 5, 1) if torch.__version__.startswith("2.7.") else (9, 10, 2)


def cudnn_version() -> int:
    """The same as `torch.backends.cudnn.version()` has it: 91002."""
    major, minor, patch = cudnn_release()
    return major * 10000 + minor * 100 + patch
