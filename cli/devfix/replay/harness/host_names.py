"""Which names of a changed file are bound to what is made on the host, by the placement analysis."""

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from devfix_codemods.placement.bound_on_host import bound_on_host
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from devfix.project.import_graph import DiskFiles, Neighbours, top_of


@contextmanager
def host_names(file: Path, source: bytes) -> Iterator[Callable[[str, int], Set[str]]]:
    """What tells which names a function, or without one the file, binds to what is made on the host before a line.

    What the file with the text `source` imports, and what imports it, is read from the disk. It is analysed once.
    """
    path = str(file)
    files = DiskFiles(top_of(str(file.parent)))
    # One caller more may be the one that counts.
    files.callers[path] = Neighbours([path], {}).importers(path, most=None)
    program = Program(Source(path, source), Project(files))

    def at(function: str, line: int) -> Set[str]:
        try:
            return bound_on_host(program.placement, function, line)
        except RecursionError:  # of the deepest nesting: nothing is known then
            return frozenset()

    try:
        yield at
    finally:
        program.forget()
