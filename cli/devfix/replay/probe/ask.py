"""Prints which accelerators torch sees, as JSON: `{"torch": "2.13.0", "folder": "…/torch", "devices": ["cuda"]}`.

Without torch it prints torch null.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def devices(torch: Any) -> list[str]:
    """The device types that torch could use here. A backend that torch does not know, or that fails, is absent."""
    return [name for name in ("cuda", "xpu", "mps", "npu") if _available(torch, name)]


def _available(torch: Any, name: str) -> bool:
    module = torch.backends.mps if name == "mps" else getattr(torch, name, None)
    try:
        return bool(module is not None and module.is_available())
    except Exception:
        return False


def _answer() -> dict[str, Any]:
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return {"torch": None, "devices": []}
    folder = str(Path(torch.__file__).absolute().parent)
    return {"torch": str(torch.__version__), "folder": folder, "devices": devices(torch)}


if __name__ == "__main__":
    print(json.dumps(_answer()))
