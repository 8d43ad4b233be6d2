"""`devfix undo`: the originals come back."""

import time
from pathlib import Path

from devfix.changes import journal
from devfix.errors import UsageError
from devfix.project.discovery import label_of
from devfix.reporting.terminal import err, one_line, out
from devfix.reporting.text import count


def undo(name: str | None) -> int:
    """Undo the run `name`, or the last one that touched a file below the working directory.

    Raises:
        UsageError: there is no such run.
    """
    run = _named(name) if name is not None else _last()
    outcomes = journal.undo(run)
    restored = [outcome for outcome in outcomes if outcome.refused is None]
    out().line((f"Restored {count(len(restored), 'file')} of the run {run.name}.", "good"))
    for outcome in outcomes:
        if outcome.refused is not None:
            path = one_line(label_of(outcome.path))
            err().line(("error: ", "error"), (path, "path"), (f": not restored: {outcome.refused}", ""))
    return 0 if len(restored) == len(outcomes) else 2


def show_runs() -> int:
    """List the runs that touched a file below the working directory, the last one first."""
    printer = out()
    found = journal.runs(str(Path.cwd()))
    for run in found:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))
        printer.line((run.name, "code"), (f"  {when}  {count(len(run.files), 'file')}: {_names(run)}", ""))
    if not found:
        printer.line(("Nothing to undo here.", ""))
    return 0


def _last() -> journal.Run:
    found = journal.runs(str(Path.cwd()))
    if not found:
        raise UsageError("nothing to undo: no run of `devfix rewrite` changed a file below this folder")
    return found[0]


def _named(name: str) -> journal.Run:
    for run in journal.runs():
        if run.name == name:
            return run
    raise UsageError(f"no run {name!r}; `devfix undo --list` names those that can be undone")


def _names(run: journal.Run) -> str:
    names = [one_line(label_of(saved.path)) for saved in run.files[:3]]
    return ", ".join([*names, "…"] if len(run.files) > len(names) else names)
