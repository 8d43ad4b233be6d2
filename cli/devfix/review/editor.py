"""The user's own editor, at the line of a finding."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

_USUAL = ("nano", "vim", "vi")
_AT_LINE = frozenset(
    {"emacs", "emacsclient", "ex", "gvim", "joe", "kak", "mg", "micro", "nano", "ne", "nvim", "vi", "view", "vim"}
)
"""Editors that take `+LINE`. Visual Studio Code and its kin take `--goto FILE:LINE`; Helix and Sublime, `FILE:LINE`."""
_GOTO = frozenset({"code", "code-insiders", "codium", "cursor"})
_WITH_COLON = frozenset({"helix", "hx", "subl", "zed"})
_WAITING = {
    "code": "--wait",
    "code-insiders": "--wait",
    "codium": "--wait",
    "cursor": "--wait",
    "gvim": "--nofork",
    "subl": "--wait",
    "zed": "--wait",
}
"""Editors that would return at once."""


class EditorError(Exception):
    """The file was not edited. The message says why."""


def edit(path: str, line: int | None) -> None:
    """Open the file in `$VISUAL`, `$EDITOR` or what there is, and wait for it.

    Raises:
        EditorError: there is no editor, or it failed.
    """
    command = [*editor(), *_arguments(Path(editor()[0]).stem, path, line)]
    reads = None if sys.stdin.isatty() else subprocess.DEVNULL
    try:
        status = subprocess.run(command, stdin=reads, check=False).returncode
    except OSError as error:
        raise EditorError(f"{command[0]} cannot be started: {error.strerror}") from error
    if status:
        raise EditorError(f"{command[0]} ended with status {status}")


def editor() -> list[str]:
    """The command of the editor.

    Raises:
        EditorError: there is none.
    """
    for variable in ("VISUAL", "EDITOR"):
        words = _words(variable)
        if words:
            return words
    for name in _USUAL:
        if shutil.which(name):
            return [name]
    raise EditorError("no editor: set $EDITOR")


def _words(variable: str) -> list[str]:
    try:
        return shlex.split(os.environ.get(variable, ""))
    except ValueError as error:
        raise EditorError(f"${variable} cannot be read: {error}") from error


def _arguments(name: str, path: str, line: int | None) -> list[str]:
    waiting = [_WAITING[name]] if name in _WAITING else []
    if line is None:
        return [*waiting, path]
    if name in _GOTO:
        return [*waiting, "--goto", f"{path}:{line}"]
    if name in _WITH_COLON:
        return [*waiting, f"{path}:{line}"]
    return [*waiting, f"+{line}", path] if name in _AT_LINE else [*waiting, path]
