"""What stands before the first write of any command: nobody's uncommitted work is touched, and originals are saved."""

from collections.abc import Iterable, Sequence

from devfix import journal
from devfix.discovery import label_of
from devfix.errors import UsageError
from devfix.writing import WriteError, dirty


def refuse_dirty(paths: Iterable[str]) -> None:
    """Go on only where none of these files has uncommitted changes.

    Raises:
        UsageError: one has, or git cannot tell.
    """
    try:
        found = dirty(paths)
    except WriteError as error:
        raise UsageError(f"{error}; nothing was written, --allow-dirty goes on without asking git") from error
    if found:
        files = "a file that has" if len(found) == 1 else f"{len(found)} files that have"
        what = f"nothing was written: it would change {files} uncommitted changes; commit them, or pass --allow-dirty"
        raise UsageError(what, [f"{label_of(file.path)} ({file.state})" for file in found])


def saved(changes: Sequence[tuple[str, bytes, bytes]]) -> journal.Run:
    """The run that `devfix undo` takes back: (path, old bytes, new bytes) of each file, on the disk on return.

    Raises:
        UsageError: the originals cannot be saved.
    """
    try:
        return journal.record(changes)
    except OSError as error:
        reason = f"cannot save the originals for `devfix undo`: {error.strerror} ({error.filename})"
        raise UsageError(f"{reason}; nothing was written") from error
