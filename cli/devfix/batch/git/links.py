"""Symbolic links of a tree that git wrote as text files: which may be real ones, and making them so."""

import os
import stat
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

_MOST_STEPS = 40
"""How many links Linux follows on the way to a file: https://man7.org/linux/man-pages/man7/path_resolution.7.html."""
_LONGEST_TARGET = 4096


def make_links(folder: Path, paths: Iterable[str]) -> None:
    """Turn those text files into symbolic links whose every step stays inside the tree at `folder`.

    The others stay text files that hold their targets. Nothing outside the tree is looked at.
    """
    links = {path: target for path in paths for target in [_target(folder / path)] if target is not None}
    folded = {_folded(path) for path in links}
    for path, target in links.items():
        if _stays_inside(path, links, folded):
            _make(folder / path, target)


def real_folder(root: Path, path: str) -> Path | None:
    """The folder at `path` below `root`, where each step on the way is a folder itself and no link; else None."""
    place = str(root)
    for part in path.split("/"):
        place = f"{place}/{part}"
        if part == ".." or _folded(part) == ".git" or not _is_folder(place):
            return None
    return Path(place)


def _is_folder(place: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(place).st_mode)
    except OSError:
        return False


def _target(place: Path) -> str | None:
    if not place.is_file() or place.is_symlink() or place.stat().st_size > _LONGEST_TARGET:
        return None
    return os.fsdecode(place.read_bytes())


def _stays_inside(path: str, links: Mapping[str, str], folded: set[str]) -> bool:
    """Whether `path` leads to a place in the tree, its `.git` aside, whatever is there."""
    waiting = path.split("/")[::-1]
    here: list[str] = []
    steps = 0
    while waiting:
        part = waiting.pop()
        if part == ".." and not here:
            return False
        if part == "..":
            here.pop()
        elif part not in ("", "."):
            here.append(part)
            target = links.get("/".join(here))
            if target is not None:
                steps += 1
                here.pop()
                waiting += target.split("/")[::-1]
                if steps > _MOST_STEPS or target.startswith("/") or not target:
                    return False
            elif _folded("/".join(here)) in folded:  # a link, to file systems for which capitals are the same
                return False
    return not any(_folded(part) == ".git" for part in here)


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _make(place: Path, target: str) -> None:
    beside = place.with_name(".devfix-link.tmp")
    with suppress(OSError, ValueError):  # a target that this system cannot have: the text file stays
        beside.symlink_to(target)
        beside.replace(place)
