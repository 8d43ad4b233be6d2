"""Prints what there is to run on, as JSON: torch, its build, the driver, and the devices that both see.

Run as a script. It asks the system as well as torch, for what torch does not see is what needs explaining.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "ASCEND_RT_VISIBLE_DEVICES",
    "PYTORCH_ENABLE_MPS_FALLBACK",
)


def installation() -> dict[str, Any]:
    """Facts by name; None where there is nothing or it cannot be asked. CUDA versions are `[12, 4]`."""
    return {
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": f"{platform.system()} {platform.machine()}",
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "nvidia_driver": _nvidia_driver(),
        "driver_cuda": _driver_cuda(),
        "nvidia_devices": len(list(Path("/proc/driver/nvidia/gpus").glob("*"))),
        "amd_driver": Path("/dev/kfd").exists(),
        **_torch(),
    }


def _nvidia_driver() -> str | None:
    """The version in a line like `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …`."""
    try:
        words = Path("/proc/driver/nvidia/version").read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return None
    return next((word for word in words if word[0].isdigit() and "." in word), None)


def _driver_cuda() -> list[int] | None:
    """The newest CUDA that the driver's library can serve; it says so even where it finds no device."""
    version = ctypes.c_int(0)
    try:
        failed = ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return None
    return None if failed else [version.value // 1000, version.value % 1000 // 10]


def _torch() -> dict[str, Any]:
    """What torch is; without one that works the reason, which for a missing library of CUDA is an `OSError`."""
    try:
        return _facts()
    except Exception as error:
        return {"torch": None, "torch_error": str(error) or type(error).__name__}


def _facts() -> dict[str, Any]:
    import torch

    mps = getattr(torch.backends, "mps", None)
    return {
        "torch": str(torch.__version__),
        "cuda_build": torch.version.cuda,
        "hip_build": getattr(torch.version, "hip", None),
        "xpu_build": getattr(torch.version, "xpu", None),
        "mps_built": bool(mps is not None and mps.is_built()),
        "devices": {name: found for name in ("cuda", "xpu", "mps", "npu") if (found := _names(torch, name))},
        "cuda_error": _cuda_error(torch),
    }


def _names(torch: Any, kind: str) -> list[str]:
    """What the devices of that kind are called; none where torch sees none."""
    try:
        if kind == "mps":
            return ["Apple GPU"] if torch.backends.mps.is_available() else []
        module = getattr(torch, kind)
        return [str(module.get_device_name(number)) for number in range(module.device_count() * module.is_available())]
    except Exception:
        return []


def _cuda_error(torch: Any) -> str | None:
    """Why CUDA does not start, in torch's words."""
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return None
    try:
        torch.cuda.init()
    except Exception as error:
        return str(error).splitlines()[0]
    return None


if __name__ == "__main__":
    print(json.dumps(installation()))
