"""A project that ships a torch of its own: a fork, a reduced build, or a package that stands in for it."""

import posixpath
import re

from devfix_codemods.project.files import Project
from devfix_codemods.project.units import Unit


def is_replaced(unit: Unit, project: Project | None) -> bool:
    """Whether `torch` is a package of the project without torch's native part: what its functions take is not known."""
    text = _text(unit, project, "torch/__init__.py")
    return text is not None and b"_C" not in text


def lacks(unit: Unit, project: Project | None, symbol: str) -> bool:
    """Whether `torch.amp` is a package of the project that does not have `symbol`."""
    text = _text(unit, project, "torch/amp/__init__.py")
    return text is not None and re.search(rb"\b%s\b|import \*" % symbol.encode(), text) is None


def _text(unit: Unit, project: Project | None, path: str) -> bytes | None:
    """What a file of the project holds that is imported from where a file is; None where there is none.

    What is in a package is not imported by a name of its own: `import torch` beside `lib/torch` is another.
    """
    if project is None:
        return None
    files, folder = project.files, posixpath.dirname(unit.path)
    while True:
        whole = posixpath.join(folder, path)
        if files.has(whole) and not files.has(posixpath.join(folder, "__init__.py")):
            unit.asked = True
            unit.uses.add(whole)
            return files.read(whole) or b""
        if folder in {files.top, posixpath.dirname(folder)}:
            return None
        folder = posixpath.dirname(folder)
