"""A project that ships a torch of its own (a fork, a reduced build), whose modules need not have every name."""

import posixpath
import re

from devfix_codemods.program import Program


def lacks(program: Program, symbol: str) -> bool:
    """Whether `torch.amp` is a package of the project that does not have `symbol`."""
    if program.project is None:
        return False
    files, folder = program.project.files, posixpath.dirname(program.source.path)
    while True:
        package = posixpath.join(folder, "torch/amp/__init__.py")
        if files.has(package):
            program.unit.asked = True
            program.unit.uses.add(package)
            return re.search(rb"\b%s\b|import \*" % symbol.encode(), files.read(package) or b"") is None
        if folder in {files.top, posixpath.dirname(folder)}:
            return False
        folder = posixpath.dirname(folder)
