"""Room for deep syntax trees, and the depth beyond which a file is not edited.

libcst's native parser recurses without a guard: on a small stack it kills the process, and it takes quadratic time on
long chains. CPython refuses more than 200 nested brackets and 100 indented blocks by itself; what is left are chains
of calls, operators, `elif` and the like, which `ast` parses to a depth of several thousand.
"""

import ast
import sys
import threading
from collections.abc import Callable
from typing import TypeVar

MAX_DEPTH = 1000
"""Measured: a tree of this depth takes less than a second and less than 8 MiB of stack; twice that, several seconds."""

_STACK = 64 * 1024 * 1024
_RECURSION = 50_000
_Result = TypeVar("_Result")


def depth(tree: ast.AST) -> int:
    """How deep libcst nests `tree`. Iterative, so that it never fails itself."""
    deepest = 0
    todo: list[tuple[ast.AST, int]] = [(tree, 1)]
    while todo:
        node, level = todo.pop()
        deepest = max(deepest, level)
        # libcst nests the operands that ast lists flat
        below = level + (len(node.values) if isinstance(node, ast.BoolOp) else 1)
        todo.extend((child, below) for child in ast.iter_child_nodes(node))
    return deepest


def with_deep_stack(work: Callable[[], _Result]) -> _Result:
    """The result of `work`, run where recursion has room on every platform (threads of macOS have 512 KiB)."""
    outcome: list[_Result] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(work())
        except BaseException as error:
            failure.append(error)

    recursion, stack = sys.getrecursionlimit(), threading.stack_size(_STACK)
    sys.setrecursionlimit(max(recursion, _RECURSION))
    try:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(recursion)
    if failure:
        raise failure[0]
    return outcome[0]
