"""What is installed to run on, and what does not fit together."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devfix.replay.confinement import Confinement
from devfix.replay.interpreter_query import query_interpreter

_SCRIPT = Path(__file__).parent / "probe" / "installation.py"


def facts_of(python: str, variables: Mapping[str, str], confinement: Confinement | None = None) -> dict[str, Any]:
    """What `probe/installation.py` finds in `python`, with `variables` added to the environment.

    Raises:
        QueryError: there is no answer.
    """
    return query_interpreter(python, _SCRIPT, variables, confinement)


def lines(facts: Mapping[str, Any]) -> list[str]:
    """The installation in a few lines."""
    version = facts.get("torch")
    torch = "no torch that can be imported" if version is None else f"torch {version} ({_build(facts)})"
    told = [f"{torch}, Python {facts.get('python')}"]
    driver = facts.get("nvidia_driver")
    if driver or facts.get("driver_cuda"):
        serves = facts.get("driver_cuda")
        told.append(f"NVIDIA driver {driver or '(unknown)'}" + (f", up to CUDA {_dotted(serves)}" if serves else ""))
    seen = [f"{kind}: {', '.join(names)}" for kind, names in facts.get("devices", {}).items()]
    told.append(f"torch sees {'; '.join(seen) or 'no accelerator'}")
    told += [f"{name}={value}" for name, value in facts.get("variables", {}).items()]
    return told


def mismatches(facts: Mapping[str, Any]) -> list[str]:
    """What keeps torch from a device that is there, and what to do about it."""
    if facts.get("torch") is None:
        return [f"torch cannot be imported: {facts.get('torch_error', 'it is not installed')}"]
    found = [*_hidden(facts), *_nvidia(facts), *_amd(facts)]
    if facts.get("cuda_error") and not found and facts.get("nvidia_driver"):
        found.append(f"CUDA does not start: {facts['cuda_error']}")
    return found


def _hidden(facts: Mapping[str, Any]) -> list[str]:
    if facts.get("devices"):  # the variable is of another kind of device
        return []
    for name, value in facts.get("variables", {}).items():
        if name.endswith("VISIBLE_DEVICES") and value.strip() in ("", "-1"):
            return [f"{name} is {value.strip() or 'empty'}, which hides every device: unset it"]
    return []


def _nvidia(facts: Mapping[str, Any]) -> list[str]:
    driver, build = facts.get("nvidia_driver"), facts.get("cuda_build")
    if not driver and not facts.get("driver_cuda"):
        if build and not facts.get("devices"):
            return [f"this torch is built for CUDA {build}, and there is no NVIDIA driver"]
        return []
    if build is None:
        return [f"there is an NVIDIA driver, but this torch is {_build(facts)}: install a CUDA build (pytorch.org)"]
    serves = facts.get("driver_cuda")
    # A driver serves all minor releases of its major version: docs.nvidia.com/deploy/cuda-compatibility.
    if serves and int(str(build).partition(".")[0]) > serves[0]:
        what = f"this torch is built for CUDA {build}, and the driver serves up to CUDA {_dotted(serves)}"
        return [f"{what}: update the driver, or install a build for an older CUDA"]
    return []


def _amd(facts: Mapping[str, Any]) -> list[str]:
    if facts.get("amd_driver") and not facts.get("hip_build") and not facts.get("devices"):
        return ["there is an AMD driver, but this torch is no ROCm build: install one (pytorch.org)"]
    if facts.get("hip_build") and not facts.get("amd_driver") and not facts.get("nvidia_driver"):
        return [f"this torch is built for ROCm {facts['hip_build']}, and there is no AMD driver"]
    return []


def _build(facts: Mapping[str, Any]) -> str:
    kinds = {"cuda_build": "CUDA", "hip_build": "ROCm", "xpu_build": "XPU"}
    built = [f"{title} {facts[name]}" for name, title in kinds.items() if facts.get(name)]
    built += ["MPS"] if facts.get("mps_built") else []
    return f"built for {' and '.join(built)}" if built else "built for the CPU only"


def _dotted(version: Any) -> str:
    return ".".join(map(str, version))
