"""Actions to take right after the script has imported a module, without importing it for the script."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Action = Callable[[ModuleType], None]


class AfterImport(MetaPathFinder):
    """A finder that finds nothing itself: it lets the others find, and has the loader run the action at the end."""

    def __init__(self, actions: dict[str, Action]) -> None:
        self._actions = actions

    def install(self) -> None:
        sys.meta_path.insert(0, self)

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        action = self._actions.pop(fullname, None)
        if action is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            _follow(spec.loader, action)
        return spec


def _follow(loader: Any, action: Action) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        action(module)

    loader.exec_module = exec_module
