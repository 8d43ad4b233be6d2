"""One parsed file and what has been learnt of it, each part computed when a rule first asks."""

import ast
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import TypeVar

from devfix_codemods.assumptions.index import Index
from devfix_codemods.ir import Function, Module
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.summaries import (
    NO_OUTLINE,
    NOTHING,
    Call,
    Outline,
    Plain,
    Summary,
    Wanted,
    qualified,
)
from devfix_codemods.placement.summarizing import outline, summarize
from devfix_codemods.project.classes import ClassTable
from devfix_codemods.project.files import Project
from devfix_codemods.project.names import Names
from devfix_codemods.project.units import Unit
from devfix_codemods.source import Source

OfCall = TypeVar("OfCall", Call, Plain)


class Program:
    """The view of one file that rules get.

    Attributes are lazy: a rule that matches an API asks for `names` and never pays for `placement`. `target` is the
    oldest torch (major, minor) that the code must run on, or None where nothing says it.
    """

    def __init__(
        self,
        source: Source,
        project: Project | None = None,
        *,
        target: tuple[int, int] | None = None,
    ) -> None:
        self.source = source
        self.project = project
        self.target = target
        self._readings: list[Analysis] = []

    @property
    def tree(self) -> ast.Module:
        """The syntax tree. Raises `SourceError` where the file does not parse."""
        return self.unit.source.tree

    @property
    def names(self) -> Names:
        """Qualified names of what each name and attribute refers to."""
        return self.unit.names

    @cached_property
    def unit(self) -> Unit:
        """The file and what is read off its syntax; the project shares it with the files around."""
        return self.project.root(self.source) if self.project is not None else Unit(self.source)

    @property
    def classes(self) -> ClassTable:
        """The classes of this file, with what the project says of their bases."""
        return self.unit.classes

    @cached_property
    def placement(self) -> Analysis:
        """Where values live, as constraints that the whole file says, and the conflicts between them."""
        imported = ImportedDefinitions(
            self.unit,
            self._defined,
            self.classes.is_managed,
            self._collating,
            self._wanted,
            self._called,
            self._plainly_called,
            self._speaking_of,
            self._lowered,
            self.names.brought,
        )
        return Analysis(self.tree, imported, self.source)

    @cached_property
    def index(self) -> Index:
        """The values of that analysis by syntax and by use. A rule asks for it when it may find something."""
        return Index(self.placement, self.source)

    def placement_without(self, calls: frozenset[ast.AST]) -> Analysis:
        """The same, as if `calls`, which move or make values, left them where they were: what would these meet?"""
        found = self.placement.without(calls)
        self._readings.append(found)
        return found

    def _lowered(self, home: Hashable) -> Module | None:
        """Another file in SSA form, which the files of the project share."""
        return self.project.lowered(home) if self.project is not None and isinstance(home, Unit) else None

    def _wanted(self, home: Hashable, function: Function) -> Mapping[str, Wanted]:
        """Where a function of another file wants what it is given."""
        if self.project is None or not isinstance(home, Unit) or not _speaks_of_places(home, self.project):
            return {}
        name = qualified(function)
        outlined = name in self._outline(home, self.project).placing
        return self._summary(home, self.project).wanted.get(name, {}) if outlined else {}

    def _outline(self, unit: Unit, project: Project) -> Outline:
        return project.summary(unit, "outline", lambda one: outline(project.lowered(one)), NO_OUTLINE)

    def _summary(self, unit: Unit, project: Project) -> Summary:
        """What another file says of its functions and its calls."""
        if not _speaks_of_places(unit, project):
            return NOTHING
        return project.summary(unit, "calls", partial(self._summed_up, project), NOTHING)

    def _summed_up(self, project: Project, unit: Unit) -> Summary:
        other = self.beside(unit)
        try:
            return summarize(other.placement, lambda callee: project.is_of_project(unit, callee))
        finally:
            other.forget()

    def _called(self, name: str) -> Iterator[tuple[str, Call]]:
        """The calls of this file's functions and classes in the files that import it, each with the name here.

        Only the files are asked that speak of what is named `name`.
        """
        yield from self._calls_here(
            name, lambda unit, project: self._summary(unit, project).calls if not unit.traits.managed else ()
        )

    def _plainly_called(self, name: str) -> Iterator[tuple[str, Plain]]:
        """The same of those that give what is no tensor."""
        yield from self._calls_here(name, lambda unit, project: self._outline(unit, project).plain)

    def _calls_here(
        self, name: str, calls_of: Callable[[Unit, Project], Iterable[OfCall]]
    ) -> Iterator[tuple[str, OfCall]]:
        """Of the calls in the files that import this one and say `name`, those of what it defines."""
        if self.project is None:
            return
        for unit in self.project.importing(self.unit, saying=name.encode()):
            for call in calls_of(unit, self.project):
                found = self.project.lookup(unit, call.callee)
                if found is not None and found.unit.path == self.unit.path:  # which may have another text by now
                    yield found.name, call

    def _speaking_of(self, name: str) -> Iterator[tuple[Hashable, ast.Module]]:
        """The files that import this one and speak of what is named `name`."""
        if self.project is not None:
            importing = self.project.importing(self.unit, saying=name.encode())
            yield from ((unit, unit.source.tree) for unit in importing)

    def _collating(self) -> Iterator[tuple[Hashable, ast.Module]]:
        """The files that collate, among those from which this one and those that import it have what speaks of data."""
        if self.project is None:
            return
        seen = {self.unit.path}
        for unit in (self.unit, *self.project.importing(self.unit)):
            imported = (one.imported for each in unit.top_level.values() for one in each)
            named = [one for one in imported if one is not None and _OF_DATA.search(one)]
            found = (self.project.lookup(unit, one) for one in named)
            for other in (unit, *(one.unit for one in found if one is not None)):
                if other.path not in seen and b"ollat" in other.source.data:
                    seen.add(other.path)
                    yield other, other.source.tree

    def loaded(self, saying: bytes) -> Iterator[tuple[str, Module]]:
        """The files that run wherever this one does, each with its path, as far as their text has what is `saying`."""
        for path, data in self.project.loaded_with(self.unit) if self.project is not None else ():
            unit = self.project.unit(path) if self.project is not None and saying in data else None
            if unit is not None and self.project is not None:
                yield path, self.project.lowered(unit)

    def _defined(self, home: Hashable, dotted: str) -> tuple[Hashable, ast.Module, str] | None:
        """The file whose top level binds an imported name, its tree, and the name there."""
        if self.project is None or not isinstance(home, Unit):
            return None
        found = self.project.lookup(home, dotted)
        if found is None:
            return None
        unit = self.unit if found.unit.path == self.unit.path else found.unit
        return unit, unit.source.tree, found.name

    def forget(self) -> None:
        """Let go of the placement analysis: its values hold one another."""
        self.__dict__.pop("index", None)
        found = self.__dict__.pop("placement", None)
        for one in (*self._readings, *([found] if found is not None else ())):
            one.forget()
        self._readings.clear()

    @cached_property
    def importing(self) -> list["Program"]:
        """The files of the project that import this one, as far as they are asked."""
        if self.project is None:
            return []
        return [self.beside(unit) for unit in self.project.importing(self.unit)]

    def beside(self, unit: Unit) -> "Program":
        """Another file of the project, read on its own: what it imports and who imports it is not asked."""
        if unit is self.unit:
            return self
        other = Program(unit.source)
        other.unit = unit
        return other


def _speaks_of_places(unit: Unit, project: Project) -> bool:
    return project.summary(unit, "speaks", lambda one: _SPEAKS_OF_PLACES.search(one.source.data) is not None, False)


_SPEAKS_OF_PLACES = re.compile(rb"device|cuda|gpu|\.to\(|\.backward\(")
_OF_DATA = re.compile(r"(?i)collat|data|load")
