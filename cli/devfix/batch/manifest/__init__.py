"""The manifest: which repositories a run is about, and how each is to be handled."""

import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from devfix.batch.choices import Commits, Existing, Publish
from devfix.batch.manifest.document import parse, repositories, run_choices
from devfix.batch.manifest.listing import checkouts, listed
from devfix.batch.manifest.mistakes import Mistakes, Place
from devfix.batch.manifest.repositories import Wanted, repositories_of
from devfix.batch.records import Repository
from devfix.errors import UsageError
from devfix.project.discovery import STANDARD_INPUT
from devfix.reporting.terminal import visible

_NOTHING_SAID = Repository(name="", source="")


@dataclass(frozen=True)
class Manifest:
    """What a manifest says. `publish`, `existing` and `commits` are for the whole run, None where nothing is said."""

    repositories: tuple[Repository, ...]
    git_config: tuple[tuple[str, str], ...] = ()
    publish: Publish | None = None
    existing: Existing | None = None
    commits: Commits | None = None


def read(name: str, defaults: Repository = _NOTHING_SAID, stdin: BinaryIO | None = None) -> Manifest:
    """The manifest `name`: a TOML file, a folder of checkouts, or `-` for a list on standard input.

    What it does not say of a repository is as in `defaults`, whose name and source mean nothing.

    Raises:
        UsageError: it cannot be read, or holds mistakes: all of them, each with its line, are in the details.
    """
    if name == STANDARD_INPUT:
        mistakes = Mistakes("standard input")
        data = (stdin or sys.stdin.buffer).read()
        return Manifest(_gathered([*listed(data, mistakes)], mistakes, defaults, "one URL or path on a line"))
    path = Path(name)
    mistakes = Mistakes(name)
    try:
        if stat.S_ISDIR(path.stat().st_mode):
            found = [*checkouts(path, mistakes)]
            return Manifest(_gathered(found, mistakes, defaults, "git repositories directly below it"))
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"the manifest {visible(name)} cannot be read: {reason}") from error
    document = parse(data, mistakes)
    top = Place(mistakes)
    choices = run_choices(document, top)
    wanted = [*repositories(document, top, path.absolute().parent, defaults)]
    return Manifest(_gathered(wanted, mistakes, defaults, "a [[repo]] table for each"), **choices)


def _gathered(
    wanted: Sequence[Wanted], mistakes: Mistakes, defaults: Repository, missing: str
) -> tuple[Repository, ...]:
    """The repositories; `missing` says what would name some.

    Raises:
        UsageError: there are mistakes, or nothing else.
    """
    found = repositories_of(wanted, defaults)
    mistakes.tell()
    if not found:
        raise UsageError(f"the manifest {visible(mistakes.manifest)} names no repository; it needs {missing}")
    return found
