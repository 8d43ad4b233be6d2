"""How commands write users' files: nobody's uncommitted work is touched, and originals are saved before."""

from collections.abc import Iterable, Sequence

from devfix.changes import journal
from devfix.changes.uncommitted import GitError, dirty
from devfix.changes.writing import WriteError, write
from devfix.errors import UsageError
from devfix.project.discovery import label_of
from devfix.reporting.terminal import err
from devfix.reporting.text import count


def refuse_dirty(paths: Iterable[str]) -> None:
    """Go on only where none of these files has uncommitted changes.

    Raises:
        UsageError: one has, or git cannot tell.
    """
    try:
        found = dirty(paths)
    except GitError as error:
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


def write_all(changes: Sequence[tuple[str, bytes, bytes]]) -> tuple[journal.Run | None, dict[str, str]]:
    """Write every (path, old bytes, new bytes). Returns the run to undo, None where nothing was written, and by its
    path why a file was left as it was.

    Raises:
        UsageError: the originals cannot be saved; nothing was written.
    """
    run, refused = saved(changes), dict[str, str]()
    for number, (path, before, after) in enumerate(changes):
        try:
            write(path, before, after, run.temporary)
        except WriteError as error:
            refused[path] = str(error)
        except KeyboardInterrupt:
            err().line((f"Interrupted after {count(number - len(refused), 'file')}. Undo with: devfix undo", "error"))
            raise
    if len(refused) == len(changes):
        journal.forget(run)
        return None, refused
    return run, refused
