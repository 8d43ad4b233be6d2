"""What is wrong with a manifest: all of it is collected, each with its line, and told at once."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NoReturn

from devfix.batch.git.sources import shown
from devfix.batch.manifest.lines import Path, lines_of
from devfix.errors import UsageError
from devfix.reporting.terminal import visible


class RefusedError(Exception):
    """A value cannot be used; the mistake is noted."""


@dataclass
class Mistakes:
    """The mistakes in the manifest called `manifest`; `text` is valid TOML, as far as lines are to be found in it."""

    manifest: str
    text: str = ""
    _found: list[tuple[int, str]] = field(default_factory=list)

    @cached_property
    def lines(self) -> dict[Path, int]:
        """As `lines_of`; most manifests have no mistake and need none."""
        return lines_of(self.text)

    def note(self, line: int | None, what: str) -> None:
        where = self.manifest if line is None else f"{self.manifest}:{line}"
        self._found.append((line or 0, visible(shown(f"{where}: {what}"))))

    def tell(self) -> None:
        """Raise them, where there are any.

        Raises:
            UsageError: its details are the mistakes, in the order of their lines.
        """
        if self._found:
            many = "1 mistake" if len(self._found) == 1 else f"{len(self._found)} mistakes"
            details = [text for _, text in sorted(self._found, key=lambda found: found[0])]
            raise UsageError(f"the manifest {visible(self.manifest)} cannot be used: {many}", details)


@dataclass(frozen=True)
class Place:
    """Where a value stands: `path` leads to it from the top; messages name its `owner` and its `key` there."""

    mistakes: Mistakes
    path: Path = ()
    owner: str = ""
    key: str = ""
    number: int | None = None
    """The line, where the manifest is a list."""

    def at(self, part: str | int) -> "Place":
        """The value of a key, or an item of an array."""
        return replace(self, path=(*self.path, part), key=self._below(part) if isinstance(part, str) else self.key)

    @property
    def line(self) -> int | None:
        """The line of the value, or of what it stands in."""
        found = (self.mistakes.lines.get(self.path[:length]) for length in range(len(self.path), 0, -1))
        return next((line for line in found if line), self.number)

    def note(self, what: str) -> None:
        """Note that the value `what`, such as `is empty`, and go on."""
        self._say(f"{self.key} {what}".lstrip())

    def refuse(self, what: str) -> NoReturn:
        """Note that the value `what`, and that it cannot be used.

        Raises:
            RefusedError: always.
        """
        self.note(what)
        raise RefusedError

    def note_key(self, key: str, before: str, after: str = "") -> None:
        """Note a mistake that lies in a key of this table itself, with what is said before and after its name."""
        self.at(key)._say(f"{before} {self._below(key)!r}{after}")

    def _below(self, key: str) -> str:
        return f"{self.key}.{key}" if self.key else key

    def _say(self, text: str) -> None:
        self.mistakes.note(self.line, f"{self.owner}: {text}" if self.owner else text)
