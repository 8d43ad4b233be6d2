"""The program of a notebook as a script beside it, from which functions can be imported. Its lines are the same."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from devfix_codemods.notebooks.notebook import is_notebook

from devfix.replay.notebooks import text_of
from devfix.replay.outcomes import FoundDriver, Outcome, ScriptError, told_place
from devfix.results import Cell, place_in


@dataclass(frozen=True, slots=True)
class Listing:
    """What is imported for `file`: for a notebook `script`, which is not in its tree, for any other file itself."""

    file: str
    script: str
    cells: tuple[Cell, ...] = ()

    @property
    def is_made(self) -> bool:
        return self.script != self.file

    def text(self, data: bytes | None) -> bytes | None:
        """What is in the script where `data` is in the file."""
        return data if data is None else text_of(Path(self.file), data)[0]

    def seen(self, outcome: Outcome) -> Outcome:
        """What came of a run of the script, told of the file."""
        if not self.is_made:
            return outcome
        return replace(
            outcome,
            error=None if outcome.error is None else self._error(outcome.error),
            reached=frozenset((self._name(file), line) for file, line in outcome.reached),
            frames=tuple((self._name(file), line) for file, line in outcome.frames),
            driver=None if outcome.driver is None else self._found(outcome.driver),
            parts=tuple(map(self._found, outcome.parts)),
        )

    def _name(self, file: str) -> str:
        return self.file if file == self.script else file

    def _error(self, error: ScriptError) -> ScriptError:
        return replace(error, file=self.file, cell=self._cell(error.line or 1)) if error.file == self.script else error

    def _found(self, driver: FoundDriver) -> FoundDriver:
        """A driver; the places that it tells are those of the notebook."""
        return replace(driver, why=re.sub(rf"{re.escape(self.script)}:(\d+)", self._place, driver.why))

    def _place(self, found: re.Match[str]) -> str:
        return told_place(self.file, int(found[1]), self._cell(int(found[1])))

    def _cell(self, line: int) -> tuple[int, int] | None:
        number, own = place_in(self.cells, line)
        return None if number is None else (number, own)


def listing_of(file: str, cells: tuple[Cell, ...], exists: Callable[[str], bool]) -> Listing:
    """The listing of a file of a tree in which other files exist."""
    if not is_notebook(file):
        return Listing(file, file)
    path = PurePosixPath(file)
    name = f"{path.stem}_cells"
    while exists(str(path.with_name(f"{name}.py"))):
        name += "_"
    return Listing(file, str(path.with_name(f"{name}.py")), cells)
