"""Processes that the script starts by `spawn` or `forkserver` get the probe too.

Such a child begins by unpickling what `multiprocessing.spawn` prepared for it, before it imports anything of the
script's. An object in there makes it join this replay.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

_JOIN = """
import importlib, pathlib, runpy
runpy.run_path({main!r})["load_package"](pathlib.Path({folder!r}))
importlib.import_module("_devfix_probe.session").join({config!r}, {has_torch!r})
"""


class _Join:
    """Unpickling this runs `session.join` in the process that does it."""

    def __init__(self, config_file: str) -> None:
        self._config_file = config_file

    def __reduce__(self) -> Any:
        folder = Path(__file__).parent
        values = {
            "main": str(folder / "main.py"),
            "folder": str(folder),
            "config": self._config_file,
            "has_torch": "torch" in sys.modules,
        }
        return exec, (_JOIN.format(**values),)


def invite(spawn: Any, config_file: str) -> None:
    """An action for `AfterImport` on `multiprocessing.spawn`: its children join the replay of `config_file`."""
    prepare: Any = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        return {"_devfix": _Join(config_file), **prepare(name)}

    spawn.get_preparation_data = get_preparation_data
