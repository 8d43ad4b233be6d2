"""The values that say where something is: sources, revisions, folders, programs. Readers as in `values`."""

import os
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

from devfix.batch.git.sources import is_repository, is_url, revision_fault, url_fault
from devfix.batch.manifest.mistakes import Place
from devfix.batch.manifest.values import Reader, text
from devfix.project.ignore import repository_of


def url(folder: Path) -> Reader:
    """What git fetches from: the address of a repository or, as for git, its path, relative to `folder`."""
    return partial(_url, folder=folder)


def path(folder: Path) -> Reader:
    """The path of a repository, relative to `folder`; the answer is absolute and without links."""
    return partial(_path, folder=folder)


def revision(value: Any, place: Place) -> str:
    name = text(value, place)
    fault = revision_fault(name)
    return name if fault is None else place.refuse(f"{name!r} {fault}; name a branch, tag or commit")


def subfolder(value: Any, place: Place) -> str:
    """A folder in a repository, with nothing superfluous in it; the top is ""."""
    name = "" if value == "" else text(value, place)
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith(("/", "~")) or re.match(r"[A-Za-z]:", name):
        place.refuse(f"{name!r} is absolute; name a folder in the repository")
    if "\\" in name:
        place.refuse(f"{name!r} holds a '\\'; write forward slashes")
    if ".." in parts:
        place.refuse(f"{name!r} leads out of the repository")
    if any(part.lower() == ".git" for part in parts):
        place.refuse(f"{name!r} is git's own")
    return "/".join(parts)


def interpreter(folder: Path) -> Reader:
    """A Python: a path, relative to `folder`, or the name of a program."""
    return partial(_interpreter, folder=folder)


def _url(value: Any, place: Place, folder: Path) -> str:
    source = text(value, place)
    if not is_url(source) and not source.startswith("-"):
        return _folder(source, place, folder, f"{source!r} is no URL, and as a path")
    fault = url_fault(source)
    return source if fault is None else place.refuse(f"{source!r} {fault}")


def _path(value: Any, place: Place, folder: Path) -> str:
    name = text(value, place)
    if is_url(name):
        place.refuse(f"{name!r} is the address of a repository; write url")
    return _folder(name, place, folder, repr(name))


def _folder(name: str, place: Place, folder: Path, what: str) -> str:
    """The repository at `name`; `what` begins the sentence where it is none."""
    try:
        found = _from(folder, name).resolve()
        is_there, is_folder = found.exists(), found.is_dir()
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        place.refuse(f"{what} cannot be read: {error}")
    if not is_folder:
        place.refuse(f"{what} is {'no folder' if is_there else 'not there'}")
    if not is_repository(found):
        place.refuse(f"{what} is no git repository{_hint(found)}")
    return text(str(found), place)


def _hint(folder: Path) -> str:
    top = repository_of(str(folder))
    return "" if top is None else f"; it lies in one: name {top!r}, and the rest as subfolder"


def _interpreter(value: Any, place: Place, folder: Path) -> str:
    name = text(value, place)
    found = shutil.which(name if os.sep not in name else _from(folder, name))
    # The search path may hold relative folders, and runs have folders of their own.
    return str(Path(found).absolute()) if found else place.refuse(f"{name!r} is no program on this machine")


def _from(folder: Path, name: str) -> Path:
    """`name`, in which `~` is somebody's home, as seen from `folder`."""
    return folder / os.path.expanduser(name)  # noqa: PTH111  Path.expanduser raises for a user who is not there
