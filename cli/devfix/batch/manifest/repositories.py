"""From what a manifest says of each repository to the repositories: names, and what must not be there twice."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from devfix.batch.git.sources import same_place, shown
from devfix.batch.manifest.mistakes import Place
from devfix.batch.records import Repository

LONGEST_NAME = 120
"""With what is put around it, a name stays a file name everywhere."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Wanted:
    """A repository as it is said: `fields` are those of its record, `name` only where one is given."""

    place: Place
    fields: dict[str, Any] = field(default_factory=dict)
    name: str | None = None


def repositories_of(wanted: Iterable[Wanted], defaults: Repository) -> tuple[Repository, ...]:
    """The repositories in their order; what is not said of one is as in `defaults`. Mistakes are noted."""
    wanted = [*wanted]
    whole = [one for one in wanted if "source" in one.fields]
    _note_repeated(whole)
    names = _Names()
    for one in wanted:
        if one.name is not None and not names.claim(one.name):
            one.place.at("name").note(f"{one.name!r} is taken already; capitals do not tell names apart")
    return tuple(
        msgspec.structs.replace(defaults, name=one.name or names.derive(one.fields), **one.fields) for one in whole
    )


def name_fault(name: str) -> str | None:
    """What keeps `name` from being a repository's, in words, or None."""
    if not _NAME.fullmatch(name):
        return "has other characters than letters, digits, '.', '_' and '-', or begins with '.' or '-'"
    return f"is longer than {LONGEST_NAME} characters" if len(name) > LONGEST_NAME else None


def derived_name(source: str, subfolder: str = "") -> str:
    """The last part of a source, and the subfolder, as a name."""
    last = re.split(r"[/:]", shown(source).rstrip("/"))[-1].removesuffix(".git")
    text = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(filter(None, [last, *subfolder.split("/")])))
    return text.lstrip(".-").rstrip("-")[:LONGEST_NAME] or "repository"


class _Names:
    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._tries: dict[str, int] = {}

    def claim(self, name: str) -> bool:
        """Whether the name was free."""
        is_free = name.lower() not in self._taken
        self._taken.add(name.lower())
        return is_free

    def derive(self, fields: dict[str, Any]) -> str:
        base = derived_name(fields["source"], fields.get("subfolder", ""))
        name = base
        while not self.claim(name):
            number = self._tries[base.lower()] = self._tries.get(base.lower(), 1) + 1
            name = f"{base[: LONGEST_NAME - 8]}-{number}"
        return name


def _note_repeated(wanted: Iterable[Wanted]) -> None:
    first: dict[tuple[str, str | None, str], Place] = {}
    for one in wanted:
        said = one.fields
        place = first.setdefault(
            (same_place(said["source"]), said.get("revision"), said.get("subfolder", "")), one.place
        )
        if place is not one.place:
            where = f", on line {place.line}" if place.line else ""
            one.place.note(f"the same repository, revision and subfolder as {place.owner or 'another'}{where}")
