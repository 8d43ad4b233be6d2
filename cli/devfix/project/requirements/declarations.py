"""The files of a folder that may declare a torch, read in the order in which they are believed.

A project that declares none may still declare a Python for which there is no torch 2.

Declarations come before locks: what a project admits counts, not what one machine has. How each is understood is
imported only where one speaks of torch.
"""

import codecs
import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from devfix.project.requirements.python_versions import torch_by_python

Version = tuple[int, int]


@dataclass(frozen=True)
class Declared:
    """The lowest torch (major, minor) that a file admits, and the file's name."""

    version: Version
    name: str


_ORDER = (
    re.compile(r"pyproject\.toml"),
    re.compile(r"setup\.cfg"),
    re.compile(r"setup\.py"),
    re.compile(r"requirements\.txt"),
    re.compile(r"requirements[._-][\w.-]*\.txt"),
    re.compile(r"requirements/[\w.-]+\.txt"),
    re.compile(r"Pipfile"),
    re.compile(r"(?:conda[_-])?(?:environment|env)[\w.-]*\.ya?ml"),
    re.compile(r"(?:uv|poetry|pdm)\.lock|pylock(?:\.[\w-]+)?\.toml"),
    re.compile(r"Pipfile\.lock"),
)
_OF_PYTHON = ("pyproject.toml", "setup.cfg", "setup.py")
_ANY = re.compile("|".join(pattern.pattern for pattern in _ORDER))
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # which begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""pip reads them as well: `pip freeze > requirements.txt` of Windows PowerShell writes UTF-16."""


def declared_torch(folder: str, names: Collection[str]) -> Declared | None:
    """The lowest torch that the files among `names`, the entries of `folder`, admit; None where none says."""
    candidates = sorted(name for name in (*names, *_of_folder(folder, names)) if _ANY.fullmatch(name))
    read = ((name, _text(folder, name) or "") for name in candidates)
    texts = {name: text for name, text in read if "torch" in text or _includes(name, text)}
    return _first(folder, texts) if texts else None


def implied_torch(folder: str, names: Collection[str]) -> Declared | None:
    """The last torch for the oldest Python that a file in `folder` admits, where that is no torch 2."""
    for name in _OF_PYTHON:
        found = torch_by_python(_text(folder, name) or "") if name in names else None
        if found is not None:
            (major, minor), torch = found
            return Declared(torch, f"{name}, which admits Python {major}.{minor}")
    return None


def _first(folder: str, texts: dict[str, str]) -> Declared | None:
    from devfix.project.requirements.torch_versions import torch_of

    def torch_in(name: str, text: str) -> Version | None:
        return torch_of(name, text, partial(_text, str(Path(folder, name).parent)))

    for pattern in _ORDER:
        found = ((torch_in(name, text), name) for name, text in texts.items() if pattern.fullmatch(name))
        if known := [Declared(version, name) for version, name in found if version is not None]:
            return min(known, key=lambda one: one.version)
    return None


def _of_folder(folder: str, names: Collection[str]) -> list[str]:
    """What a folder `requirements` beside the other files has."""
    if "requirements" not in names:
        return []
    try:
        return [f"requirements/{path.name}" for path in Path(folder, "requirements").iterdir()]
    except OSError:
        return []


def _includes(name: str, text: str) -> bool:
    return name.endswith(".txt") and re.search(r"(?m)^[ \t]*(?:-[rc]|--(?:requirement|constraint)\b)", text) is not None


def _text(folder: str, name: str) -> str | None:
    try:
        data = Path(folder, name).read_bytes()
    except (OSError, ValueError):
        return None
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(encoding, "replace").replace("\r\n", "\n")
