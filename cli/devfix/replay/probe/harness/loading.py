"""Imports of the driven module: packages that are not there get stand-ins, one after the other."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .calling import DRIVER, Attempt, Caller
from .driver import Target, head

_MOST = 40


@dataclass(frozen=True)
class Loaded:
    """The driver's names once its imports ran, and the packages that have stand-ins; or why they do not run."""

    names: dict[str, Any]
    absent: tuple[str, ...]
    failed: Attempt | None = None


def load(target: Target, root: Path, caller: Caller) -> Loaded:
    """Run the driver's imports."""
    sys.path[:0] = [str(root / path) for path in target.paths]
    own = _own_packages(target, root)
    absent: list[str] = []
    while True:
        finders = list(sys.meta_path)
        names: dict[str, Any] = {"__name__": "__main__", "__file__": str(root / "devfix_driver.py")}
        attempt = caller.run(compile(head(target, absent, is_run=True), DRIVER, "exec"), names)
        missing = _missing(attempt.error)
        if missing is None or missing in absent or missing in own or len(absent) == _MOST:
            return Loaded(names, tuple(absent), attempt if attempt.error is not None else None)
        absent.append(missing)
        sys.meta_path[:] = finders
        _forget(root, absent)


def _missing(error: BaseException | None) -> str | None:
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    top = error.name.partition(".")[0]
    return None if top in sys.modules or top in sys.stdlib_module_names else top


def _own_packages(target: Target, root: Path) -> set[str]:
    """What the folders of the module path hold: if that cannot be imported, the project is at fault."""
    folders = [root / path for path in target.paths]
    return {entry.stem for folder in folders for entry in folder.iterdir() if entry.suffix in ("", ".py")} - {""}


def _forget(root: Path, absent: list[str]) -> None:
    """Have the project's modules imported anew."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        is_ours = isinstance(file, str) and file.startswith(str(root)) and "site-packages" not in file
        if name != "__main__" and (is_ours or name.partition(".")[0] in absent):
            del sys.modules[name]
