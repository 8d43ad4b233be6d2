"""What the project shows of where the names of a changed file live, by the placement analysis."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devfix_codemods.placement.bound_on_device import bound_on_device
from devfix_codemods.placement.bound_on_host import bound_on_host
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from devfix.project.import_graph import DiskFiles, Neighbours, top_of


@dataclass(frozen=True)
class KnownPlaces:
    """Where the names of a function, or without one of the file, live that are bound before a line."""

    program: Program

    def on_host(self, function: str, line: int) -> frozenset[str]:
        """Those that are bound to what is made on the host."""
        try:
            return bound_on_host(self.program.placement, function, line)
        except RecursionError:  # of the deepest nesting: nothing is known then
            return frozenset()

    def on_device(self, function: str, line: int) -> frozenset[str]:
        """Those that are bound to what is put on a device, in one way at least."""
        try:
            return bound_on_device(self.program.placement, function, line)
        except RecursionError:
            return frozenset()


@contextmanager
def known_places(file: Path, source: bytes) -> Iterator[KnownPlaces]:
    """What is known of the file with the text `source`, and of what it imports and what imports it, read from the disk.

    It is analysed once.
    """
    path = str(file)
    files = DiskFiles(top_of(str(file.parent)))
    # One caller more may be the one that counts.
    files.callers[path] = Neighbours([path], {}).importers(path, most=None)
    program = Program(Source(path, source), Project(files))
    try:
        yield KnownPlaces(program)
    finally:
        program.forget()
