"""The files around the one that is analysed: what an imported name is, followed through packages and re-exports.

A file is parsed when something that it defines is used, once for all files of a run.
"""

import ast
import posixpath
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from devfix_codemods.ir import Module, lower_on_demand
from devfix_codemods.ir.nodes import forget
from devfix_codemods.project import imports
from devfix_codemods.project.classes import ClassTable
from devfix_codemods.project.imports import Files
from devfix_codemods.project.stars import brought
from devfix_codemods.project.units import Definition, Unit
from devfix_codemods.source import Source, SourceError

MOST_BYTES = 600_000
"""Larger files are tables and generated code: not followed."""

ROOM = 4_000_000
"""Bytes of source that are remembered at once; what is made of them takes some fifty times as much memory."""

LOADED = 60
"""How many files that run with another one are read."""

CHAIN = 8
"""How many re-exports are followed from one name to its definition."""


Kept = TypeVar("Kept")


@dataclass(frozen=True, slots=True)
class Found:
    """What an imported name is: a definition in `unit`, or, without one, the value that the top level gives `name`."""

    unit: Unit
    name: str
    definition: Definition | None


class Project:
    """The files that the analysis of one of them may read. Answers are kept: files must not change meanwhile.

    `room` is how many bytes of source are remembered from one file to the next.
    """

    def __init__(self, files: Files, room: int = ROOM) -> None:
        self.files = files
        self._room = room
        self._units: dict[str, Unit | None] = {}  # those asked for last come last
        self._older: list[Unit] = []  # texts that were rewritten meanwhile, or are too large for others
        self._lowered: dict[Unit, Module] = {}  # those asked for last come last
        self._texts: dict[str, bytes | None] = {}  # of importers, until the next file is analysed
        self._summaries: dict[str, dict[str, Any]] = {}
        self._tables: dict[ast.ClassDef, ClassTable] = {}
        self._places: dict[tuple[str, str], tuple[str, tuple[str, ...]] | None] = {}
        self._bytes = 0

    def root(self, source: Source) -> Unit:
        """The unit of the file that is analysed: its text may be newer than the project's."""
        if self._bytes > self._room:
            self._make_room()
        self._forget_lowered()
        self._texts.clear()
        known = self.unit(source.path) if source.path in self._units else None
        if known is not None and known.source.data == source.data:
            return known
        unit = self._new(source)
        if source.path not in self._units:
            self._units[source.path] = unit
        else:
            self._older.append(unit)
        return unit

    def unit(self, path: str) -> Unit | None:
        """A file of the project, parsed; None where it cannot be read or is no Python."""
        unit = self._units.pop(path) if path in self._units else self._parsed(path)
        self._units[path] = unit
        return unit

    def _make_room(self) -> None:
        """Forget what was not asked for lately. What a file rests on is kept as long as the file: it is part of it."""
        kept: set[str] = set()
        free = self._room * 3 // 4  # what all files of a library rest on is large: it had better fit in
        for path in reversed(self._units):
            more = self._below(path, kept)
            size = sum(map(self._size, more))
            if size <= free:
                kept |= more
                free -= size
        for unit in (*self._older, *(unit for path, unit in self._units.items() if unit and path not in kept)):
            self._bytes -= len(unit.source.data)
            for one in unit.names.classes:
                del self._tables[one]
        self._older.clear()
        self._places.clear()
        for known in (self._units, self._summaries):
            for path in known.keys() - kept:
                del known[path]

    def lowered(self, unit: Unit) -> Module:
        """A file in SSA form, for whoever reads its definitions and changes nothing; it is there until the next `root`.

        Raises:
            RecursionError: it is nested too deeply.
        """
        known = self._lowered.pop(unit, None)
        module = known if known is not None else lower_on_demand(unit.source.tree, unit.names.brought)
        self._lowered[unit] = module
        return module

    def _forget_lowered(self) -> None:
        """Forget the SSA form of what was not asked for lately, which takes as much memory as the tree."""
        size = sum(len(unit.source.data) for unit in self._lowered)
        while size > self._room // 4:
            unit = next(iter(self._lowered))
            size -= len(unit.source.data)
            forget(self._lowered.pop(unit))

    def _below(self, path: str, kept: set[str]) -> set[str]:
        """The file `path` and all that it rests on, without what is `kept`."""
        found: set[str] = set()
        pending = [path]
        while pending:
            current = pending.pop()
            if current in found or current in kept:
                continue
            found.add(current)
            unit = self._units.get(current)
            pending.extend(unit.uses if unit is not None else ())
        return found

    def _size(self, path: str) -> int:
        unit = self._units.get(path)
        return len(unit.source.data) if unit is not None else 0

    def lookup(self, unit: Unit, dotted: str) -> Found | None:
        """What `dotted`, imported in `unit`, is, where a file of the project defines it for certain."""
        return self._followed(unit, dotted, 0, {})

    def _followed(self, unit: Unit, dotted: str, chain: int, tried: dict[tuple[str, str], int]) -> Found | None:
        """As `lookup`, behind `chain` re-exports. `tried` has how many led to each name of a file, at the least."""
        unit.asked = True
        place = self._place(unit.path, dotted)
        if place is None or chain > CHAIN:
            return None
        path, rest = place
        unit.uses.add(path)
        if len(rest) != 1 or path == unit.path:
            return None
        name = rest[0]
        if tried.get((path, name), CHAIN + 1) <= chain:
            return None  # modules that import everything of each other lead here in countless ways
        tried[path, name] = chain
        other = self.unit(path)
        return self._member(other, name, chain, tried) if other is not None else None

    def is_of_project(self, unit: Unit, dotted: str) -> bool:
        """Whether `dotted`, imported in `unit`, leads to another file of the project, whatever that defines."""
        unit.asked = True
        place = self._place(unit.path, dotted)
        return place is not None and place[0] != unit.path

    def behind(self, unit: Unit, star: str) -> Unit | None:
        """The file of which `unit` imports everything as `star`; None where it is none of the project."""
        unit.asked = True
        place = self._place(unit.path, star)
        if place is None or place[1] or place[0] == unit.path:
            return None
        unit.uses.add(place[0])
        return self.unit(place[0])

    def _place(self, path: str, dotted: str) -> tuple[str, tuple[str, ...]] | None:
        """As `imports.find`, which asks for nothing but the folder."""
        key = (posixpath.dirname(path), dotted)
        if key not in self._places:
            self._places[key] = imports.find(path, dotted, self.files)
        return self._places[key]

    def parent(self, unit: Unit, base: ast.expr) -> ast.ClassDef | None:
        """The class of another file that `base` names in `unit`."""
        dotted = unit.names.imported(base)
        found = self.lookup(unit, dotted) if dotted is not None else None
        return found.definition if found is not None and isinstance(found.definition, ast.ClassDef) else None

    def summary(self, unit: Unit, sort: str, make: Callable[[Unit], Kept], meanwhile: Kept) -> Kept:
        """What a file says to those around it, one summary of each `sort`, as `make` finds out.

        `meanwhile` is the answer where that is just being found out.
        """
        known = self._summaries.setdefault(unit.path, {})
        if sort not in known:
            known[sort] = meanwhile
            known[sort] = make(unit)
        found: Kept = known[sort]
        return found

    def importing(self, unit: Unit, *, saying: bytes = b"") -> Iterator[Unit]:
        """The files that import `unit`, or those of them whose text has what is `saying`: others are not parsed."""
        for path in self.files.importers(unit.path):
            unit.asked = True
            unit.uses.add(path)
            other = self.unit(path) if saying in (self._text(path) or b"") else None
            if other is not None and other is not unit:
                yield other

    def _text(self, path: str) -> bytes | None:
        known = self._units.get(path)
        if known is not None:
            return known.source.data
        if path not in self._texts:
            self._texts[path] = self.files.read(path)
        return self._texts[path]

    def consulted(self, path: str) -> frozenset[str] | None:
        """The files on which the analysis of `path` may have depended so far, itself left out.

        None where nothing was asked of the project: not even a new file would change the analysis.
        """
        texts = [one for one in (self._units.get(path), *self._older) if one is not None and one.path == path]
        if not any(one.asked for one in texts):
            return None
        found: set[str] = set()
        for used in (used for one in texts for used in one.uses):
            found |= self._below(used, found)
        return frozenset(found - {path})

    def loaded_with(self, unit: Unit) -> Iterator[tuple[str, bytes]]:
        """The files that run wherever `unit` does: those of its packages, and what these and it import, and so on."""
        found = dict.fromkeys((unit.path, *imports.packages(unit.path, self.files)))
        pending = list(found)
        unit.asked = True
        for path in pending:  # grows meanwhile
            data = unit.source.data if path == unit.path else self.files.read(path)
            if data is None:
                continue
            if path != unit.path:
                unit.uses.add(path)
                yield path, data
            places = (self._place(path, dotted) for dotted in imports.mentioned(data))
            more = [place[0] for place in dict.fromkeys(places) if place is not None and place[0] not in found]
            more = more[: LOADED + 1 - len(found)]
            found.update(dict.fromkeys(more))
            pending += dict.fromkeys(more)

    def _member(self, unit: Unit, name: str, chain: int, tried: dict[tuple[str, str], int]) -> Found | None:
        bindings = unit.top_level.get(name, [])
        behind = unit.stars_behind(name) if bindings else ()
        if any(self._followed(unit, f"{star}{name}", chain + 1, tried) is not None for star in behind):
            return None
        imported = [one.imported for one in bindings if one.imported is not None]
        if len(bindings) == 1 and not imported:
            return Found(unit, name, bindings[0].definition)
        if bindings and len(imported) < len(bindings):
            return None
        targets = imported or [f"{star}{'' if star.endswith('.') else '.'}{name}" for star in unit.stars]
        answers = (self._followed(unit, one, chain + 1, tried) for one in targets)
        found = (one for one in answers if one is not None)
        first = next(found, None)
        branches_differ = bool(imported) and any(one != first for one in found)  # of stars, the last one binds a name
        return None if branches_differ else first

    def _parsed(self, path: str) -> Unit | None:
        data = self.files.read(path)
        if data is None or len(data) > MOST_BYTES:
            return None
        try:
            return self._new(Source(path, data))
        except (SourceError, RecursionError):
            return None

    def _new(self, source: Source) -> Unit:
        unit = Unit(source)
        itself = weakref.proxy(unit)  # so that nothing but the project keeps a file
        unit.classes.elsewhere, unit.classes.tables = partial(self.parent, itself), self._tables
        unit.names.elsewhere = partial(brought, self, itself)
        self._tables.update(dict.fromkeys(unit.names.classes, unit.classes))
        self._bytes += len(source.data)
        return unit
