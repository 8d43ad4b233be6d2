"""Keeps the script from writing to the tree that it was copied from, which it may know by an absolute path.

Python tells an audit hook of the files that it opens. It does not tell of those that C++ code opens, so `torch.save` is
replaced by a function that looks at the path first. Of other C++ code, only the sandbox keeps the tree safe.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NO_FOLDER = -1
_SPECIAL = ("/dev/", "/proc/")
"""Below these, what a run writes is no file, or has a name that no other run chooses."""
_PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.rmdir": ((0, 1),),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, None),),
    "os.utime": ((0, 3),),
}
"""Audit events that change files: which arguments are paths, and which the descriptors of the folders they start in.

`os.link` changes no source, but through the new name the script could write to the same file.
"""
_FOLLOWING = frozenset({"os.chmod", "os.truncate"})
"""Of these, the events that change what a link leads to. Those of `os.chown` and `os.utime` do not say if they do."""


class Guard:
    """Refuses to change anything below the folder `original`, but for what is below the folders of the run, its `own`.

    `report_shared` is called once, with a file that is written outside of all, or a port: other runs could meet it.
    """

    def __init__(self, original: str, own: Sequence[str], report_shared: Callable[[str], None]) -> None:
        self._original = f"{Path(original).resolve()}{os.sep}"
        self._own = tuple(f"{Path(one).resolve()}{os.sep}" for one in own)
        self._report_shared = report_shared
        self._has_shared = False

    def install(self) -> None:
        sys.addaudithook(self._audit)

    def follow_torch(self, torch: ModuleType) -> None:
        """An action for `AfterImport` on torch."""
        serialization: Any = torch.serialization
        torch.save = serialization.save = self._checked(serialization.save)  # type: ignore[attr-defined]

    def _check(self, path: Any, folder: int = _NO_FOLDER, *, follows: bool) -> None:
        """See whether the script may change `path`, which starts in the folder of that descriptor, or the working one.

        `follows` says that a link at the end of the path stays as it is, and what it leads to is changed.

        Raises:
            PermissionError: it lies in the original tree.
        """
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # an open file: it was checked when it was opened
        given = _start(folder) / os.fsdecode(path)
        named = str(given.parent.resolve() / given.name)
        changed = os.path.realpath(named) if follows else named
        if self._is_original(named) or self._is_original(changed):
            raise PermissionError(errno.EACCES, "a replay may not write to the original tree", str(given))
        if not self._is_own(changed) and not named.startswith(_SPECIAL):
            self._share(changed)

    def _is_original(self, path: str) -> bool:
        return path.startswith(self._original) and not self._is_own(path)

    def _is_own(self, path: str) -> bool:
        return f"{path}{os.sep}".startswith(self._own)

    def _share(self, what: str) -> None:
        if not self._has_shared:
            self._has_shared = True
            self._report_shared(what)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                self._check(path, follows=True)
        elif event in _PATHS:
            for path, folder in _PATHS[event]:
                start = _NO_FOLDER if folder is None else arguments[folder]
                self._check(arguments[path], start, follows=event in _FOLLOWING)
        elif event == "socket.bind":
            _, address = arguments
            if isinstance(address, tuple) and len(address) > 1 and address[1]:
                self._share(f"port {address[1]}")

    def _checked(self, save: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(save)
        def wrapped(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            self._check(f, follows=True)
            return save(obj, f, *args, **kwargs)

        return wrapped


def _start(folder: int) -> Path:
    """The folder that a descriptor is open on; the working directory if there is none, or the system does not say."""
    if folder == _NO_FOLDER:
        return Path()
    try:
        return Path(f"/proc/self/fd/{folder}").readlink()
    except OSError:
        return Path()
