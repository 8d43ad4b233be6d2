"""What a driver holds to stand for a file of somebody's. Its own text goes into the driver."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import torch


def checkpoint() -> str:
    """A file with a tensor that was saved on a GPU: it is marked so, as none need be here."""
    file = Path(tempfile.mkdtemp(), "checkpoint.pth")
    known = list(torch.serialization._package_registry)
    torch.serialization.register_package(-1, lambda _storage: "cuda:0", lambda _storage, _place: None)
    torch.save({"weight": torch.ones(1)}, file)
    torch.serialization._package_registry[:] = known
    return str(file)


def find_checkpoints() -> None:
    """Have `torch.load` find such a file where there is none."""
    serialization: Any = torch.serialization
    opened = serialization._open_file_like

    def open_any(file: Any, mode: str) -> Any:
        is_absent = "r" in mode and isinstance(file, (str, Path)) and not Path(file).exists()
        return opened(checkpoint() if is_absent else file, mode)

    serialization._open_file_like = open_any
