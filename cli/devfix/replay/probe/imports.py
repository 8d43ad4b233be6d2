"""Actions to take right after the script has imported a module, without importing it for the script."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class AfterImport(MetaPathFinder):
    """A finder that finds nothing itself: it lets the others find, and has the loader run the action at the end."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = actions
        self._sought: set[str] = set()

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self._actions or fullname in self._sought:
            return None
        self._sought.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._sought.discard(fullname)
        if spec is not None and spec.loader is not None:
            # Who only asks whether there is such a module imports nothing: the action waits.
            self._follow(spec.loader, fullname)
        return spec

    def imported(self, names: Iterable[str]) -> None:
        """Act on modules that came in another way."""
        for name in names:
            self._act(name, sys.modules[name])

    def _follow(self, loader: Any, fullname: str) -> None:
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self._act(fullname, module)

        loader.exec_module = exec_module

    def _act(self, fullname: str, module: ModuleType) -> None:
        action = self._actions.pop(fullname, None)
        if action is not None:
            action(module)
