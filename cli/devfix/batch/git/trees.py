"""What the tree of a commit holds, read before any of it is on the disk."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from devfix.batch.errors import RepositoryError
from devfix.batch.git.bare import Clone

MOST_FILES = 1_000_000
RESERVE = 256 << 20
"""How many bytes of the disk a checkout leaves free."""
_LINK = "120000"
_FILES = ("100644", "100755", "100664")


@dataclass(frozen=True)
class Tree:
    """`files` are the regular ones, each with its mode; `links` the paths of symbolic links. `size` is in bytes."""

    files: dict[str, str]
    links: tuple[str, ...]
    size: int


def read_tree(commit: str, clone: Clone) -> Tree:
    """The tree of `commit`.

    Raises:
        RepositoryError: it has too many files; git bombs have billions.
    """
    listed = clone.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    files: dict[str, str] = {}
    links = []
    size = count = 0
    for entry in listed.split(b"\0")[:-1]:
        about, _, path = entry.partition(b"\t")
        mode, _, _, length = about.decode().split()
        count += 1
        size += int(length) if length.isdigit() else 0
        if mode in _FILES:
            files[os.fsdecode(path)] = mode
        elif mode == _LINK:
            links.append(os.fsdecode(path))
    if count > MOST_FILES:
        raise RepositoryError("too large", f"it has more than {MOST_FILES} files")
    return Tree(files, tuple(links), size)


def require_room(tree: Tree, folder: Path) -> None:
    """See that the tree fits on the disk of `folder`.

    Raises:
        RepositoryError: it does not.
    """
    from devfix.replay.workspace import readable

    free = shutil.disk_usage(folder).free
    if tree.size + RESERVE > free:
        raise RepositoryError(
            "disk full", f"its files take {readable(tree.size)}, and {readable(free)} are free in {folder}"
        )
