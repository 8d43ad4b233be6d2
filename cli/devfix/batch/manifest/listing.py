"""Manifests that are no TOML: a list of sources, and a folder of checkouts."""

import codecs
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from devfix.batch.git.sources import is_repository, is_url
from devfix.batch.manifest import places, values
from devfix.batch.manifest.mistakes import Mistakes, Place, RefusedError
from devfix.batch.manifest.repositories import Wanted
from devfix.errors import UsageError
from devfix.reporting.terminal import visible


def listed(data: bytes, mistakes: Mistakes) -> Iterator[Wanted]:
    """The repositories that a list names: a source on each line, and after it the revision, if not the default one."""
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n"), 1):
        place = Place(mistakes, number=number)
        with suppress(RefusedError):
            if words := _words(line.rstrip(b"\r"), place):
                yield Wanted(place, _fields(words, place))


def checkouts(folder: Path, mistakes: Mistakes) -> Iterator[Wanted]:
    """The repositories directly below a folder, or the folder itself where it is one.

    Raises:
        UsageError: the folder cannot be listed.
    """
    try:
        found = [folder] if is_repository(folder) else sorted(child for child in folder.iterdir() if child.is_dir())
    except OSError as error:
        raise UsageError(f"{visible(str(folder))}: cannot be listed: {error.strerror}") from error
    for child in found:
        if is_repository(child):
            with suppress(RefusedError):
                place = Place(mistakes, owner=child.name)
                yield Wanted(place, {"source": values.text(str(child.resolve()), place)})


def _words(line: bytes, place: Place) -> list[str]:
    """The words of a line up to its comment, which is a word that begins with `#`: URLs may hold one inside."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        place.refuse("not UTF-8")
    if text.strip():
        values.text(text.replace("\t", " "), place)  # refuses control characters, of which the tab is one
    words = text.split()
    comment = next((at for at, word in enumerate(words) if word.startswith("#")), len(words))
    return words[:comment]


def _fields(words: list[str], place: Place) -> dict[str, str]:
    source, *rest = words
    if len(rest) > 1:
        place.refuse("more than a source and a revision; a path with blanks goes into a TOML manifest")
    # `places.url` refuses what begins with `-`, which git would take for an option.
    read = places.url if is_url(source) or source.startswith("-") else places.path
    fields = {"source": read(Path.cwd())(source, place)}
    if rest:
        fields["revision"] = places.revision(rest[0], place)
    return fields
