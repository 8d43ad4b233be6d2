"""Processes that the script starts by `spawn` or `forkserver` get the probe too.

Such a child first unpickles a dictionary that `multiprocessing.spawn` prepared for it, and then imports the script. The
probe adds an object to that dictionary. Unpickling it starts the probe in the child.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

# The child cannot import the probe by name, since it is no installed package: `main.py` can load it from its folder.
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
        # The child reads the entries that it knows, and ignores this one after unpickling it.
        return {"_devfix": _Join(config_file), **prepare(name)}

    spawn.get_preparation_data = get_preparation_data
