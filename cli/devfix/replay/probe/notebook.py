"""The cells of a notebook, run one after the other in one namespace: by IPython where a cell needs it, else plainly."""

from __future__ import annotations
import __future__

import ast
import asyncio
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

from .cells import Cell

_FUTURE = __future__.annotations.compiler_flag
"""Of what a cell imports from the future, the rest is there already."""


def run(
    file: str,
    cells: Sequence[tuple[int, str, bool]],
    ipython: tuple[int, int] | None,
    module: ModuleType,
    note: Callable[[str], None],
) -> None:
    """Run the `cells` (number, source, whether it may raise) of the notebook `file` as the module `__main__`.

    `ipython` is the cell and the line that ask for IPython, None where nothing does.

    Raises:
        ModuleNotFoundError: IPython is not installed where it is asked for; the cell's line is in the traceback.
    """
    made = {number: Cell(f"{file}:cell {number}", text, may_raise) for number, text, may_raise in cells}
    sys.excepthook = traceback.print_exception
    sys.displayhook = _show
    if ipython is not None:
        number, line = ipython
        exec(compile("\n" * (line - 1) + "import IPython", made[number].name, "exec"), {})
    run_cell = _Plain(module).run if ipython is None else _in_shell(module, note)
    sys.path.insert(0, "")  # wherever the cells go
    for cell in made.values():
        _run(cell, run_cell)


def _show(value: object) -> None:
    """Show what an expression gives beside what the cell prints, as a notebook does."""
    if value is not None:
        print(repr(value), file=sys.stderr)


def _run(cell: Cell, run_cell: Callable[[Cell], None]) -> None:
    try:
        run_cell(cell)
    except Exception:
        if not cell.may_raise:
            raise
        traceback.print_exc()


def _in_shell(module: ModuleType, note: Callable[[str], None]) -> Callable[[Cell], None]:
    from . import ipython  # which need not be installed

    return ipython.runner(module, note)


class _Plain:
    """Runs cells as Python's own prompt runs lines: `await` may stand, and what the last expression gives is shown."""

    def __init__(self, module: ModuleType) -> None:
        self._names = module.__dict__
        self._flags = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, cell: Cell) -> None:
        """Run a cell, and raise what it raises."""
        for code in list(self._compiled(cell)):
            if code.co_flags & inspect.CO_COROUTINE:
                self._waited(eval(code, self._names))
            else:
                exec(code, self._names)

    def _waited(self, coroutine: Any) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(coroutine)

    def _compiled(self, cell: Cell) -> Iterator[CodeType]:
        flags = self._flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        tree: ast.Module = compile(cell.text, cell.name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        body, shown = tree.body, ast.Interactive([])
        if body and isinstance(body[-1], ast.Expr) and not _is_silenced(cell.text, body[-1]):
            body, shown = body[:-1], ast.Interactive(body[-1:])
        whole = compile(ast.Module(body, []), cell.name, "exec", flags, dont_inherit=True)
        self._flags |= whole.co_flags & _FUTURE  # a cell speaks for those after it
        yield whole
        if shown.body:
            yield compile(shown, cell.name, "single", self._flags | flags, dont_inherit=True)


def _is_silenced(text: str, last: ast.Expr) -> bool:
    """Whether a semicolon follows the last expression, which then shows nothing."""
    line = text.encode().splitlines()[(last.end_lineno or 1) - 1]
    return line[last.end_col_offset :].lstrip().startswith(b";")
