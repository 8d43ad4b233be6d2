"""`devfix check --watch`: check now, and again whenever something that counts has changed."""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from devfix.errors import UsageError
from devfix.formats import ReportFormat
from devfix.operations.check import check
from devfix.operations.inputs import Ask
from devfix.project.discovery import Discovery, discover
from devfix.reporting.terminal import err

_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_TOGETHER_MS = 400
"""Changes that come one upon the other count as one, up to this long."""
_LOOK_MS = 1_000
"""How often the few files are looked at that lie outside the watched folders."""
_SETTINGS = ("pyproject.toml", ".gitignore")
_ENDS = (".py", ".ipynb", ".gitignore", ".toml", ".txt", ".cfg", ".lock", ".yml", ".yaml", "Pipfile")
"""How the names of files end that are checked, or say how: settings, and what may declare a torch."""

Signature = tuple[object, ...]


def watch(ask: Ask, statistics_only: bool = False) -> int:
    """Check until Ctrl-C ends it.

    Raises:
        UsageError: the first run cannot start, or what is asked for cannot be watched.
    """
    _refuse(ask)
    _need_watchfiles()
    known = _state(ask)
    _run(ask, statistics_only)
    for _ in _moments(ask):
        state = _state(ask)
        if state != known:
            known = state
            _run_again(ask, statistics_only)
    return 0


def _refuse(ask: Ask) -> None:
    if ask.reads_standard_input:
        raise UsageError("--watch is for files, not for `-`")
    if ask.output_format is not ReportFormat.TEXT and ask.output_file is None:
        raise UsageError(f"--watch prints text; to write {ask.output_format} each time, name an --output-file")


def _need_watchfiles() -> None:
    try:
        import watchfiles as _watchfiles  # noqa: F401
    except ImportError as error:
        raise UsageError("devfix check --watch needs watchfiles: pip install 'devfix[watch]'") from error


def _run(ask: Ask, statistics_only: bool) -> None:
    if sys.stdout.isatty():
        print(_CLEAR, end="")
    check(ask, statistics_only)
    sys.stdout.flush()
    if not ask.quiet:
        err().line((f"[{time.strftime('%H:%M:%S')}] Watching for changes; Ctrl-C ends.", "faint"))


def _run_again(ask: Ask, statistics_only: bool) -> None:
    try:
        _run(ask, statistics_only)
    except UsageError as error:  # a mistake in the settings, which the next change may mend
        for line in (f"error: {error}", *(f"  {detail}" for detail in error.details)):
            err().line((f"devfix: {line}", "error"))


def _state(ask: Ask) -> Signature:
    """What a run would see: its files with their times and settings, or why there can be no run."""
    try:
        found = discover(ask.names, ask.overrides)
        baseline = ask.baseline()
    except UsageError as error:
        return (str(error), *error.details)
    return (_files(found), baseline, None if baseline is None else _stamp(baseline))


def _files(found: Discovery) -> frozenset[object]:
    errors = ((one.target.path, one.reason) for one in found.errors)
    return frozenset([*((one.target.path, one.mtime_ns, one.size, one.choice) for one in found.files), *errors])


def _moments(ask: Ask) -> Iterator[None]:
    """Each moment at which the state may be another; one comes when the watch has begun, for what was before it."""
    import watchfiles

    stamps: list[tuple[int, int] | None] | None = None
    folders = [name for name in ask.names if Path(name).is_dir()]
    for changes in watchfiles.watch(
        *folders,
        watch_filter=lambda _, path: path.endswith(_ENDS),
        debounce=_TOGETHER_MS,
        rust_timeout=_LOOK_MS,
        yield_on_timeout=True,
        ignore_permission_denied=True,
    ):
        now = [_stamp(path) for path in _apart(ask)]
        if changes or now != stamps:
            stamps = now
            yield None


def _apart(ask: Ask) -> list[str]:
    """Files that count and may lie in none of the watched folders: those that were named, and settings above."""
    found: dict[str, None] = {}
    for name in ask.names:
        path = Path(name).absolute()
        folder = path if path.is_dir() else path.parent
        if folder != path:
            found[str(path)] = None
        for above in (folder, *folder.parents):
            found.update((str(above / one), None) for one in _SETTINGS)
    with contextlib.suppress(UsageError):
        found.update((one, None) for one in (ask.baseline(),) if one is not None)
    return list(found)


def _stamp(path: str) -> tuple[int, int] | None:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
