"""Which variables a confined command inherits: those named here, and no others. Tokens and keys are not among them."""

import os
from collections.abc import Mapping
from pathlib import Path

_NAMES = frozenset(
    (
        *("LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "LD_LIBRARY_PATH"),
        *("MPLBACKEND", "PYTHONHASHSEED", "PYTHONUTF8", "PYTHONIOENCODING", "PYTHONWARNINGS"),
        *("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "HSA_OVERRIDE_GFX_VERSION"),
        *("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR", "ASCEND_RT_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
    )
)
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "PIP_CERT")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL")
_PREFIXES = ("LC_", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "CUDA_", "CUBLAS_", "PYTORCH_", "TORCH_")
_SECRETS = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "_KEY")


def inherited(variables: Mapping[str, str], network: bool) -> dict[str, str]:
    """Those of `variables` that are passed on; with a network also how to reach it, where that holds no password."""
    return {name: value for name, value in variables.items() if _passes(name) or (network and _connects(name, value))}


def certificates() -> list[Path]:
    """The files and folders that say whom to trust in a network."""
    return [Path(path) for name in _CERTIFICATES if (path := os.environ.get(name, "")).startswith("/")]


def library_folders() -> list[str]:
    """Where the loader of the inherited environment looks first."""
    return [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) if entry.startswith("/")]


def _connects(name: str, value: str) -> bool:
    return name in _CERTIFICATES or (name.upper() in _PROXIES and "@" not in value)


def _passes(name: str) -> bool:
    return (name in _NAMES or name.startswith(_PREFIXES)) and not any(word in name.upper() for word in _SECRETS)
