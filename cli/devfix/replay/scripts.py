"""Whether a file is a script that can be run, and how."""

import ast
from pathlib import Path

from devfix_codemods.notebooks.notebook import is_notebook

from devfix.replay import notebooks

_ACTIONS = (ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.AugAssign, ast.Assert, ast.Raise, ast.Delete)


def why_not_runnable(path: Path, data: bytes) -> str | None:
    """The reason for which running the file by itself would show nothing, or None for a script."""
    if is_notebook(path.name):
        return notebooks.why_not_runnable(path, data)
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return "not valid Python"
    if any(_acts(node) for node in tree.body):
        return None
    return "a library file: name the command that runs it"


def module_name(script: Path, data: bytes) -> str | None:
    """The dotted name to run a script by, where it imports relatively from the package that it is in, else None."""
    if not (script.parent / "__init__.py").exists() or not _imports_relatively(data):
        return None
    names, folder = [script.stem], script.parent
    while (folder / "__init__.py").exists():
        names.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(names))


def _acts(node: ast.stmt) -> bool:
    """Whether a top-level statement does more than define, import and assign."""
    if isinstance(node, ast.If):
        return any(map(_acts, (*node.body, *node.orelse))) or _is_main_guard(node)
    if isinstance(node, ast.Try):
        return any(map(_acts, (*node.body, *node.orelse, *node.finalbody)))
    return isinstance(node, _ACTIONS) or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))


def _is_main_guard(node: ast.If) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test))


def _imports_relatively(data: bytes) -> bool:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in ast.walk(tree))
