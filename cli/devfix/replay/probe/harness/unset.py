"""Attributes that nothing in a project ever sets: whoever reads one of an object of the project comes no further."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

MOST_FILES = 2000
"""So many files of a project are looked through; of a larger one, everything may be set."""
_OPENLY = (b"setattr(", b"__dict__", b"__getattr__", b"vars(self)")
"""What sets attributes by names that the text does not show."""


def is_unset(error: BaseException, root: Path, own: Set[str]) -> bool:
    """Whether an attribute is missing that no file below `root` sets, of an object whose classes all are the project's.

    `own` are the first parts of the names of its modules.
    """
    owner, name = getattr(error, "obj", None), getattr(error, "name", None)
    if not isinstance(error, AttributeError) or owner is None or not isinstance(name, str):
        return False
    classes = type(owner).__mro__[:-1]
    if not classes or any(one.__module__.partition(".")[0] not in own for one in classes):
        return False
    texts = list(_texts(root))
    return len(texts) <= MOST_FILES and not any(_may_set(text, name) for text in texts)


def _texts(root: Path) -> Iterator[bytes]:
    for count, path in enumerate(sorted(root.rglob("*.py"))):
        if count > MOST_FILES:
            return
        try:
            yield path.read_bytes()
        except OSError:
            continue


def _may_set(text: bytes, name: str) -> bool:
    if name.encode() not in text:
        return False
    if any(one in text for one in _OPENLY):
        return True
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return True
    return any(_names(node, name) for node in ast.walk(tree))


def _names(node: Any, name: str) -> bool:
    """Whether a node of the text means the name otherwise than by reading an attribute."""
    if isinstance(node, ast.Attribute):
        return node.attr == name and not isinstance(node.ctx, ast.Load)
    words = (getattr(node, key, None) for key in ("id", "arg", "name", "asname", "value"))
    return any(isinstance(one, str) and one == name for one in words)
