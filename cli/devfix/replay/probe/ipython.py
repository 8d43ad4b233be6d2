"""IPython's shell, as notebooks know it, in which cells are files and nothing is installed.

It keeps no history, reads nobody's settings, and shows plots nowhere. Errors of the cells are raised, not shown.
"""

from __future__ import annotations

import ast
import contextlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from IPython.core import page
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from .cells import Cell
from .commands import INSTALLERS, is_refused

_TIMED = ("<timed exec>", "<timed eval>")
"""What `%%time` calls the code of its cell."""
_OF_SHELLS = frozenset(("bash", "sh", "zsh", "fish", "ksh", "script", "system", "sx", "!"))
"""Cell magics whose text is commands."""
_CONTINUED = re.compile(r"(?m)^[ \t]*(?:[\w.\[\]'\", ]+=[ \t]*)?[%!].*\\$")
Note = Callable[[str], None]


def runner(module: ModuleType, note: Note) -> Callable[[Cell], None]:
    """What runs a cell as part of `module`, and raises what it raises. `note` is told what is done otherwise."""
    settings = Config()
    settings.HistoryManager.enabled = False
    settings.HistoryManager.hist_file = ":memory:"
    settings.InteractiveShell.colors = "nocolor"
    made: _Shell = _Shell.instance(
        user_module=module, ipython_dir=tempfile.mkdtemp(prefix="ipython-"), config=settings, note=note
    )
    return made.run


class _Expanded(str):
    """A command in whose place no variables stand any more: once is enough, as `$$` and `{{` are then `$` and `{`."""


class _Compiler(CachingCompiler):
    """Names code after its cell, and gives it the lines that it has there."""

    def __init__(self) -> None:
        super().__init__()
        self.cell: Cell | None = None
        self._offset = 0
        self._of_magics: list[int | None] = []

    @contextlib.contextmanager
    def within(self, body: str | None) -> Iterator[None]:
        """Compile what a magic asks for: the `body` of a cell magic as the end of its cell, anything else as it is."""
        self._of_magics.append(None if self.cell is None or body is None else self.cell.offset(body))
        try:
            yield
        finally:
            self._of_magics.pop()

    def cache(self, transformed_code: str, number: int = 0, raw_code: str | None = None) -> Any:
        offset = None if self.cell is None else self.cell.offset(raw_code or transformed_code)
        if self.cell is None or offset is None:
            return super().cache(transformed_code, number, raw_code)
        self._offset = offset
        self.cell.show(offset, transformed_code)
        return self.cell.name

    def ast_parse(self, source: str, filename: str = "<unknown>", symbol: str = "exec") -> Any:
        offset: int | None = None
        if self.cell is not None and filename == self.cell.name:
            offset = self._offset
        elif self.cell is not None and filename == "<unknown>" and self._body is not None:
            offset = self._body
            self.cell.show(offset, source)
        return super().ast_parse("\n" * (offset or 0) + source, filename, symbol)

    def __call__(self, source: Any, filename: str, symbol: str, **kwargs: Any) -> Any:
        if self.cell is not None and filename in _TIMED and self._body is not None:
            filename = self.cell.name
        return super().__call__(source, filename, symbol, **kwargs)

    @property
    def _body(self) -> int | None:
        """The lines before the text that the innermost magic was given; None where that is no end of the cell."""
        return self._of_magics[-1] if self._of_magics else None


class _Shown(DisplayHook):
    """Shows what the last expression of a cell gives beside what the cell prints, as a notebook does."""

    def __call__(self, result: Any = None) -> None:
        with contextlib.redirect_stdout(sys.stderr):
            super().__call__(result)


class _Shell(InteractiveShell):
    displayhook_class = _Shown

    def __init__(self, note: Note, **kwargs: Any) -> None:
        self._errors: list[BaseException] = []
        self._note = note
        super().__init__(**kwargs)
        self.set_hook("show_in_pager", page.as_hook(page.display_page), 90)

    def init_instance_attrs(self) -> None:
        super().init_instance_attrs()
        self.compile: _Compiler = _Compiler()

    def run(self, cell: Cell) -> None:
        cell.text = _with_whole_lines(cell.text)
        self.compile.cell = cell
        self._errors.clear()
        result = self.run_cell(cell.text, store_history=True)
        error = next(iter(self._errors), None) or result.error_before_exec or result.error_in_exec
        if error is not None:
            raise error

    # Errors

    def showtraceback(self, exc_tuple: Any = None, *args: Any, **kwargs: Any) -> None:
        error = sys.exc_info()[1] if exc_tuple is None else exc_tuple[1]
        if error is not None:
            self._errors.append(error)

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        self.showtraceback()

    # What is done otherwise

    def run_line_magic(self, magic_name: str, line: str, _stack_depth: int = 1) -> Any:
        if magic_name in INSTALLERS:
            return self._leave_out(f"%{magic_name} {line}")
        with self.compile.within(None):
            return super().run_line_magic(magic_name, line, _stack_depth + 1)

    def run_cell_magic(self, magic_name: str, line: str, cell: str) -> Any:
        if magic_name in _OF_SHELLS and is_refused(f"{line}\n{cell}"):
            return self._leave_out(f"%%{magic_name} {line}")
        with self.compile.within(cell):
            return super().run_cell_magic(magic_name, line, cell)

    def system(self, cmd: str) -> None:
        expanded = _Expanded(self.var_expand(cmd, depth=1))
        self.user_ns["_exit_code"] = 0
        if is_refused(cmd) or is_refused(expanded):
            self._leave_out(f"!{cmd}")
        else:
            super().system_piped(expanded)

    def getoutput(self, cmd: str, split: bool = True, depth: int = 0) -> Any:
        expanded = self.var_expand(cmd, depth=depth + 1)
        if is_refused(cmd) or is_refused(expanded):
            self._leave_out(f"!{cmd}")
            expanded = ":"
        return super().getoutput(_Expanded(expanded), split)

    def var_expand(self, cmd: str, depth: int = 0, *args: Any) -> str:
        return cmd if isinstance(cmd, _Expanded) else super().var_expand(cmd, depth + 1, *args)

    def enable_gui(self, gui: Any = None) -> None:
        """Open no window."""

    def enable_matplotlib(self, gui: Any = None) -> tuple[Any, str]:
        """Leave matplotlib as it is: it draws, and shows nothing."""
        return gui, os.environ.get("MPLBACKEND", "Agg")

    def init_virtualenv(self) -> None:
        """Import what this interpreter has, and nothing else."""

    def _leave_out(self, what: str) -> None:
        self._note(f"`{what.strip()}` was not run: a replay installs and downloads nothing")


def _with_whole_lines(text: str) -> str:
    """A cell whose magics are each on one line, with empty lines after them: IPython would drop the others."""
    if "\\\n" not in text or _is_python(text):
        return text
    lines = text.split("\n")
    for number in range(len(lines)):
        joined = 0
        while _CONTINUED.match(lines[number]) and number + joined + 1 < len(lines):
            joined += 1
            lines[number] = f"{lines[number][:-1].rstrip()} {lines[number + joined].strip()}"
            lines[number + joined] = ""
    return "\n".join(lines)


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True
