"""What the application knows of a file once the library has seen it: records that are cached, sent and reported."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from devfix_codemods.source import Span

if TYPE_CHECKING:
    from devfix_codemods.findings import Finding


class Replacement(msgspec.Struct, frozen=True, array_like=True):
    """New text for a range of the file."""

    span: Span
    text: str


class Cell(msgspec.Struct, frozen=True, array_like=True):
    """A cell of a notebook, and the line at which it begins in the notebook's program."""

    number: int
    first: int


def place_in(cells: Sequence[Cell], line: int) -> tuple[int | None, int]:
    """The number of the cell among `cells`, and the line in it, of a line of the program; without cells, the line."""
    if not cells:
        return None, line
    cell = max((one for one in cells if one.first <= line), key=lambda one: one.first, default=cells[0])
    return cell.number, max(line - cell.first + 1, 1)


def told_line(cells: Sequence[Cell], line: int) -> str:
    """A line in words: `line 21`, or in a notebook with these cells `cell 3, line 4`."""
    cell, own = place_in(cells, line)
    return f"line {own}" if cell is None else f"cell {cell}, line {own}"


class Note(msgspec.Struct, frozen=True, array_like=True):
    """One stop on the trail; `path` is the absolute one of its file, where that is not the finding's."""

    span: Span
    text: str
    path: str | None = None


class Repair(msgspec.Struct, frozen=True, array_like=True):
    """A fix as the user sees it. `safety` is `safe`, `unsafe`, `suggestion` or `manual`."""

    safety: str
    title: str
    edits: tuple[Replacement, ...] = ()


class Problem(msgspec.Struct, frozen=True, array_like=True):
    """A finding with its repair worked out down to the characters.

    Of a notebook, positions are those of its program, and `cells` are the cells that they lie in. `confidence` has two
    decimals, and is 1 only where nothing is in doubt; `links` are the sorts of constraints that it is made of. A `weak`
    one is a suggestion without a repair.
    """

    code: str
    name: str
    message: str
    span: Span
    origin: Span | None = None
    trail: tuple[Note, ...] = ()
    repair: Repair | None = None
    advice: str | None = None
    cells: tuple[Cell, ...] = ()
    confidence: float = 1.0
    links: tuple[str, ...] = ()
    weak: bool = False

    def place(self, line: int) -> tuple[int | None, int]:
        """The number of the cell, None in a plain file, and the line in it."""
        return place_in(self.cells, line)

    @property
    def own_trail(self) -> tuple[Note, ...]:
        """The stops of the trail that lie in this file."""
        return tuple(note for note in self.trail if note.path is None)

    @property
    def fixable(self) -> bool:
        return self.repair is not None and self.repair.safety != "manual"

    @property
    def tier(self) -> str:
        """The safety of its repair; `manual` where it has none, and `suggestion` where that is one."""
        if self.is_suggestion:
            return "suggestion"
        return self.repair.safety if self.repair is not None else "manual"

    @property
    def is_suggestion(self) -> bool:
        return self.weak or (self.repair is not None and self.repair.safety == "suggestion")


@dataclass(frozen=True)
class Target:
    """A file that devfix is about to handle.

    `path` is absolute with links resolved, `label` is what the user reads: relative to the working directory.
    `outside` marks a link that leads out of the tree in which it was named: such a file is read, never written.
    `content` is set for what is no file: standard input.
    """

    path: str
    label: str
    outside: bool = False
    content: bytes | None = None

    def read(self) -> bytes:
        """The bytes to handle.

        Raises:
            OSError: the file cannot be read.
        """
        return Path(self.path).read_bytes() if self.content is None else self.content


@dataclass(frozen=True)
class Place:
    """Where a file stands: the run, the folder above which nothing is imported from, and who imports the file.

    `room` is how many bytes of source a process remembers for the files to come. `unsaved` are texts of other files, by
    path, that are newer than the disk's: an editor's. A run has the same ones from its first file to its last.
    """

    run: int
    top: str
    path: str
    importers: tuple[str, ...]
    room: int
    unsaved: tuple[tuple[str, bytes], ...] = ()


@dataclass(frozen=True)
class Checked:
    """What was found in a file, and how many findings its comments silence.

    `rests_on` are the other files that had a say in it; None where no other file could have. A file is not `analysed`
    where nothing in it could concern a rule.
    """

    target: Target
    problems: tuple[Problem, ...]
    ignored: int = 0
    rests_on: tuple[str, ...] | None = None
    analysed: bool = True


@dataclass(frozen=True)
class Rewritten:
    """What `rewrite` makes of a file that it changes.

    `fixed` are the findings that it repaired, at their positions in `before`, and `findings` the same as the library
    knows them; `left` remain in `after`. `place` is where the file stands in its project.
    """

    target: Target
    before: bytes
    after: bytes
    fixed: tuple[Problem, ...]
    left: tuple[Problem, ...] = ()
    findings: "tuple[Finding, ...]" = ()
    place: Place | None = None


@dataclass(frozen=True)
class Skipped:
    """Left alone on purpose."""

    target: Target
    reason: str


@dataclass(frozen=True)
class Failed:
    """Could not be handled."""

    target: Target
    reason: str


Result = Checked | Rewritten | Skipped | Failed
