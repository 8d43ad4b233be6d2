"""A project that ships a torch of its own: a fork, a reduced build, or a package that stands in for it."""

import posixpath
import re

from devfix_codemods.program import Program


def is_replaced(program: Program) -> bool:
    """Whether `torch` is a package of the project without torch's native part: what its functions take is not known."""
    text = _text(program, "torch/__init__.py")
    return text is not None and b"_C" not in text


def lacks(program: Program, symbol: str) -> bool:
    """Whether `torch.amp` is a package of the project that does not have `symbol`."""
    text = _text(program, "torch/amp/__init__.py")
    return text is not None and re.search(rb"\b%s\b|import \*" % symbol.encode(), text) is None


def _text(program: Program, path: str) -> bytes | None:
    """What a file of the project holds that is imported from where the program is; None where there is none.

    What is in a package is not imported by a name of its own: `import torch` beside `lib/torch` is another.
    """
    if program.project is None:
        return None
    files, folder = program.project.files, posixpath.dirname(program.source.path)
    while True:
        whole = posixpath.join(folder, path)
        if files.has(whole) and not files.has(posixpath.join(folder, "__init__.py")):
            program.unit.asked = True
            program.unit.uses.add(whole)
            return files.read(whole) or b""
        if folder in {files.top, posixpath.dirname(folder)}:
            return None
        folder = posixpath.dirname(folder)
