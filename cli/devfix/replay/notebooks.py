"""A notebook as a program that runs: its code cells, what they need, and how its lines are counted.

Inside a run each cell is a file of its own, `train.ipynb:cell 3`, with lines from 1: so tracebacks name it. Everywhere
else lines are those of the notebook's program, as in findings.
"""

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devfix_codemods.notebooks.cells import Cell as CodeCell
from devfix_codemods.notebooks.cells import ForeignNotebookError, python_cells
from devfix_codemods.notebooks.notebook import Notebook, is_notebook, read
from devfix_codemods.source import SourceError

from devfix.results import Cell, place_in

_OF_IPYTHON = frozenset(("display", "get_ipython", "In", "Out"))
"""Names that IPython defines for the cells."""
_SKIPPED, _MAY_RAISE = "skip-execution", "raises-exception"
"""Tags of cells that Jupyter heeds, too."""


class NotebookError(Exception):
    """A notebook that cannot be run; the message says why."""


@dataclass(frozen=True)
class Lines:
    """How the lines of the notebook `file`, which is relative to its tree, are counted."""

    file: str
    cells: tuple[Cell, ...]

    def in_cell(self, line: int) -> tuple[str, int]:
        """A line of the program, as a run counts it."""
        number, own = place_in(self.cells, line)
        return _name(self.file, number), own

    def in_program(self, file: str, line: int) -> tuple[int, int] | None:
        """A line of a run, as the program counts it, with the number of its cell; None where it is not of ours."""
        for cell in self.cells:
            if file == _name(self.file, cell.number):
                return cell.first + line - 1, cell.number
        return None


def _name(file: str, cell: int | None) -> str:
    return f"{file}:cell {cell}"


@dataclass(frozen=True)
class CellToRun:
    """A code cell as it is run. One that `may_raise` ends nothing where it does."""

    number: int
    text: str
    may_raise: bool = False


@dataclass(frozen=True)
class Program:
    """What a notebook runs. `ipython` is the first cell and line that only IPython understands, where there is one."""

    lines: Lines
    cells: tuple[CellToRun, ...]
    ipython: tuple[int, int] | None


def program_of(file: str, data: bytes) -> Program:
    """The notebook `data`, whose path in its tree is `file`, as a program.

    Raises:
        NotebookError: it is none that can be run.
    """
    notebook = _read(file, data)
    cells = tuple(_cells(notebook))
    return Program(Lines(file, cells_of(notebook)), cells, _first_of_ipython(notebook, {one.number for one in cells}))


def text_of(path: Path, data: bytes) -> tuple[bytes, tuple[Cell, ...]]:
    """The source whose lines are counted: of a notebook its program, with its cells; of any other file itself."""
    if not is_notebook(path.name):
        return data, ()
    try:
        notebook = _read(path.name, data)
    except NotebookError:
        return data, ()
    return notebook.source.data, cells_of(notebook)


def cells_of(notebook: Notebook) -> tuple[Cell, ...]:
    """The cells of the notebook's program, each with its first line."""
    return tuple(Cell(part.cell.number, part.first) for part in notebook.parts)


def why_not_runnable(path: Path, data: bytes) -> str | None:
    """The reason for which a notebook cannot be run, or None."""
    try:
        _read(path.name, data)
    except NotebookError as error:
        return str(error)
    return None


def _read(file: str, data: bytes) -> Notebook:
    try:
        notebook = read(file, data)
        _ = notebook.source
    except (ForeignNotebookError, SourceError) as error:
        raise NotebookError(str(error)) from error
    return notebook


def _cells(notebook: Notebook) -> Iterator[CellToRun]:
    document = json.loads(notebook.document)["cells"]
    for cell in python_cells(notebook.document):
        tags = _tags(document[cell.number - 1])
        if _SKIPPED not in tags:
            yield CellToRun(cell.number, cell.text, _MAY_RAISE in tags)


def _tags(cell: dict[str, object]) -> list[object]:
    metadata = cell.get("metadata")
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    return tags if isinstance(tags, list) else []


def _first_of_ipython(notebook: Notebook, run: set[int]) -> tuple[int, int] | None:
    """The first cell and line, of the cells that are `run`, with a magic or with a name that IPython defines."""
    texts = {part.cell.number: part.text for part in notebook.parts}
    named = dict(_named(notebook))
    for cell in python_cells(notebook.document):
        lines = [line for line in (_magic_line(cell, texts.get(cell.number)), named.get(cell.number)) if line]
        if cell.number in run and lines:
            return cell.number, min(lines)
    return None


def _magic_line(cell: CodeCell, python: str | None) -> int | None:
    """The first line of a cell that is no Python. A cell that the program leaves out is none at all."""
    if python is None:
        return 1
    pairs = zip(cell.text.split("\n"), python.split("\n"), strict=True)
    return next((number for number, (one, other) in enumerate(pairs, 1) if one != other), None)


def _named(notebook: Notebook) -> Iterator[tuple[int, int]]:
    """For cells that use names which IPython defines, and no cell does, the number and the first such line."""
    nodes = list(ast.walk(notebook.source.tree))
    bound = {name for node in nodes for name in _bound(node)} - {"get_ipython"}
    used = {line for node in nodes for name, line in _mentioned(node) if name in _OF_IPYTHON - bound}
    cells = cells_of(notebook)
    for line in sorted(used, reverse=True):
        number, own = place_in(cells, line)
        if number is not None:
            yield number, own


def _mentioned(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The name that a node is, and its line."""
    if isinstance(node, ast.Name):
        yield node.id, node.lineno
    elif isinstance(node, ast.Attribute) and node.attr == "get_ipython":
        yield node.attr, node.lineno


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return [node.id]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.asname or node.name] if isinstance(node, ast.alias) else []
