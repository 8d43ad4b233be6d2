"""What a driver holds to import a project's files as far as their statements run. Its own text goes into the driver."""

from __future__ import annotations
import __future__

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .standins import StandIn


class Partly(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports the files below a folder without those of their statements that cannot run here.

    What these bind has stand-ins. `left_out` names them, `path/of/file.py:12#0f3a`: a statement is known by its text,
    as the lines of its file may have moved.
    """

    def __init__(self, root: Path, left_out: list[str]) -> None:
        self.root, self.left_out = root, left_out

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        found: Any = importlib.machinery.PathFinder.find_spec(name, path)
        file = Path(getattr(found, "origin", None) or "")
        if file.suffix != ".py" or self.root not in file.parents or "site-packages" in file.parts:
            return None
        inside = found.submodule_search_locations
        return importlib.util.spec_from_file_location(name, file, loader=self, submodule_search_locations=inside)

    def create_module(self, spec: Any) -> Any:
        return None

    def exec_module(self, module: Any) -> None:
        file: str = module.__spec__.origin
        tree = ast.parse(Path(file).read_bytes())
        module.__doc__ = ast.get_docstring(tree)
        future = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
        flags = 0
        for alias in [alias for one in future for alias in one.names]:
            flags |= getattr(__future__, alias.name).compiler_flag
        for statement in tree.body:
            self.do(statement, file, flags, vars(module))

    def do(self, statement: Any, file: str, flags: int, names: dict[str, Any]) -> None:
        """Run a statement of a file, or have stand-ins for what it binds."""
        if not self.stands_for(statement, file, names):
            exec(compile(ast.Module([statement], []), file, "exec", flags, dont_inherit=True), names)

    def stands_for(self, statement: Any, file: str, names: dict[str, Any]) -> bool:
        """Whether a statement is left out; what it binds is bound then."""
        path, _, text = self.told(statement, file).partition(":")
        own = [one for one in self.left_out if one.startswith(f"{path}:")]
        if text.partition("#")[2] not in [one.partition("#")[2] for one in own]:
            return False
        for name, meant in bound_by(statement):
            names.setdefault(name, sys.modules.get(meant) or StandIn(meant))
        return True

    def told(self, statement: Any, file: str) -> str:
        """What `left_out` calls a statement."""
        text = ast.unparse(statement).encode()
        return f"{Path(file).relative_to(self.root).as_posix()}:{statement.lineno}#{zlib.crc32(text):08x}"


def bound_by(node: Any) -> Iterator[tuple[str, str]]:
    """The names that a statement binds, with what they mean: `c` and `a.b.c` for `from a.b import c`."""
    if isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0], node.name if node.asname else node.name.partition(".")[0]
    elif isinstance(node, ast.ImportFrom):
        yield from ((one.asname or one.name, f"{node.module or ''}.{one.name}") for one in node.names)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name, node.name
    else:
        for one in ast.iter_child_nodes(node):
            yield from bound_by(one)
