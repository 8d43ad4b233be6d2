"""Which names of a changed file are bound to what is made on the host, by the placement analysis."""

from collections.abc import Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from devfix_codemods.placement.bound_on_host import bound_on_host
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from devfix.project.import_graph import DiskFiles, Neighbours, top_of


@dataclass(frozen=True)
class HostNames:
    """The file at `path`, with the text `source`; what it imports, and what imports it, is read from the disk."""

    path: Path
    source: bytes

    def at(self, function: str, line: int) -> Set[str]:
        """The names that a function, or without one the file, binds to what is made on the host before a line."""
        try:
            return bound_on_host(self._program.placement, function, line)
        except RecursionError:  # of the deepest nesting: nothing is known then
            return frozenset()
        finally:
            self._program.forget()

    @cached_property
    def _program(self) -> Program:
        path = str(self.path)
        files = DiskFiles(top_of(str(self.path.parent)))
        files.callers[path] = Neighbours([path], {}).importers(path)
        return Program(Source(path, self.source), Project(files))
