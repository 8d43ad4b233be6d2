"""Which files of the tree are loaded as modules, told as it happens."""

from __future__ import annotations

import functools
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from types import CodeType


def follow(inside: Callable[[str], str | None], report: Callable[[str], None]) -> None:
    """Call `report` for each source file from now on that `inside` has a name for, by that name."""
    told: set[str] = set()
    get_code = SourceFileLoader.get_code

    @functools.wraps(get_code)
    def reporting(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        name = inside(loader.path)
        if name is not None and name not in told:
            told.add(name)
            report(name)
        return get_code(loader, fullname)

    # Code is fetched before it runs, so that this is in no traceback of what a module does.
    SourceFileLoader.get_code = reporting  # type: ignore[assignment, method-assign]
