"""The decisions of a review on the disk, from the first one on: what is interrupted goes on with `--resume`."""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import platformdirs

from devfix.atomic import put
from devfix.review.decisions import Decision
from devfix.review.documents import Item
from devfix.review.matching import Sign, paired

_FORMAT = 1


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """A decision, and what its finding is known by. The path is in the bytes of the file system."""

    path: bytes
    code: str
    message: str
    text: str
    around: tuple[str, str]
    decision: Decision

    @property
    def sign(self) -> Sign:
        return Sign(os.fsdecode(self.path), self.code, self.message, self.text, self.around)


class _Book(msgspec.Struct, frozen=True):
    format: int
    folder: bytes
    names: tuple[bytes, ...]
    kept: tuple[Kept, ...]


class Memory:
    """The decisions of the review of the paths `names`, in the working directory."""

    def __init__(self, names: Sequence[str]) -> None:
        self._folder = os.fsencode(Path.cwd())
        self._names = tuple(sorted({os.fsencode(Path(name).absolute()) for name in names}))
        key = hashlib.sha256(b"\0".join((self._folder, *self._names))).hexdigest()[:32]
        self._file = _home() / f"{key}.msgpack"

    def load(self) -> tuple[Kept, ...]:
        """What was decided when the review was interrupted; empty where none was."""
        book = _read(self._file)
        return book.kept if book is not None else ()

    def save(self, decisions: Iterable[tuple[Item, Decision]]) -> None:
        """Put these in the place of what is there; without any, nothing is kept.

        Raises:
            OSError: they cannot be written.
        """
        kept = tuple(_kept(item.sign, decision) for item, decision in decisions)
        if not kept:
            self._file.unlink(missing_ok=True)
            return
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        put(str(self._file), msgspec.msgpack.encode(_Book(_FORMAT, self._folder, self._names, kept)))

    def others(self) -> list[list[str]]:
        """The paths of other reviews that were interrupted in this folder, as they would be typed here."""
        books = [book for file in sorted(_home().glob("*.msgpack")) if (book := _read(file)) is not None]
        here = [book.names for book in books if book.folder == self._folder and book.names != self._names]
        return [[os.path.relpath(os.fsdecode(name)) for name in names] for names in here]


def restored(kept: Sequence[Kept], items: Sequence[Item]) -> tuple[dict[int, Decision], list[Kept]]:
    """The decisions by the numbers of the findings that they were about, and those that match none any more."""
    pairs = paired([one.sign for one in kept], [item.sign for item in items])
    found = {items[new].number: kept[old].decision for old, new in pairs.items()}
    return found, [one for index, one in enumerate(kept) if index not in pairs]


def _kept(sign: Sign, decision: Decision) -> Kept:
    return Kept(os.fsencode(sign.path), sign.code, sign.message, sign.text, sign.around, decision)


def _read(file: Path) -> _Book | None:
    try:
        book = msgspec.msgpack.decode(file.read_bytes(), type=_Book)
    except (OSError, msgspec.DecodeError):
        return None
    return book if book.format == _FORMAT else None


def _home() -> Path:
    return Path(platformdirs.user_state_dir("devfix")) / "reviews"
