"""The decisions of a review on the disk, so that `--resume` goes on with a review that was interrupted.

They are saved after each decision: nothing has to run at the end of a review for it.
"""

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import platformdirs

from devfix.atomic import put
from devfix.review.decisions import Decision
from devfix.review.documents import Item
from devfix.review.matching import Fingerprint, paired

_FORMAT = 1
"""Changes with the records below. A file of another format counts as none."""


class SavedDecision(msgspec.Struct, frozen=True, array_like=True):
    """A decision, and the fingerprint of its finding. Paths are bytes: those of the file system may be no UTF-8."""

    path: bytes
    code: str
    message: str
    text: str
    around: tuple[str, str]
    decision: Decision

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(os.fsdecode(self.path), self.code, self.message, self.text, self.around)


class _File(msgspec.Struct, frozen=True):
    """What stands in the file of one review: `names` are the paths that it was asked for, in the folder `folder`."""

    format: int
    folder: bytes
    names: tuple[bytes, ...]
    kept: tuple[SavedDecision, ...]


class SavedReview:
    """The file with the decisions of a review: that of the paths `names`, in the working directory."""

    def __init__(self, names: Sequence[str]) -> None:
        self._folder = os.fsencode(Path.cwd())
        self._names = tuple(sorted({os.fsencode(Path(name).absolute()) for name in names}))
        key = hashlib.sha256(b"\0".join((self._folder, *self._names))).hexdigest()[:32]
        self._location = _folder_of_reviews() / f"{key}.msgpack"

    def load(self) -> tuple[SavedDecision, ...]:
        """What was decided when the review was interrupted; empty where none was."""
        file = _read(self._location)
        return file.kept if file is not None else ()

    def save(self, decisions: Iterable[tuple[Item, Decision]]) -> None:
        """Write `decisions` in the place of what was saved before; without any, the file is removed.

        Raises:
            OSError: they cannot be written.
        """
        kept = tuple(_saved(item.fingerprint, decision) for item, decision in decisions)
        if not kept:
            self._location.unlink(missing_ok=True)
            return
        # It quotes code that others may not be allowed to read.
        self._location.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        put(str(self._location), msgspec.msgpack.encode(_File(_FORMAT, self._folder, self._names, kept)))

    def others(self) -> list[list[str]]:
        """The paths of other reviews that were interrupted in this folder, as they would be typed here."""
        locations = sorted(_folder_of_reviews().glob("*.msgpack"))
        files = [file for location in locations if (file := _read(location)) is not None]
        here = [file.names for file in files if file.folder == self._folder and file.names != self._names]
        return [[os.path.relpath(os.fsdecode(name)) for name in names] for names in here]


def restored(kept: Sequence[SavedDecision], items: Sequence[Item]) -> tuple[dict[int, Decision], list[SavedDecision]]:
    """The decisions by the number of the finding that each is about, and those whose finding is not there any more."""
    pairs = paired([one.fingerprint for one in kept], [item.fingerprint for item in items])
    found = {items[new].number: kept[old].decision for old, new in pairs.items()}
    return found, [one for index, one in enumerate(kept) if index not in pairs]


def _saved(of: Fingerprint, decision: Decision) -> SavedDecision:
    return SavedDecision(os.fsencode(of.path), of.code, of.message, of.text, of.around, decision)


def _read(location: Path) -> _File | None:
    """The file; None where there is none that this version wrote: a review then begins anew."""
    try:
        file = msgspec.msgpack.decode(location.read_bytes(), type=_File)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None
    return file if file.format == _FORMAT else None


def _folder_of_reviews() -> Path:
    return Path(platformdirs.user_state_dir("devfix")) / "reviews"
