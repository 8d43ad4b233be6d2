"""Keeps the script from writing to the tree that it was copied from, which it may know by an absolute path.

Files that C++ opens are beyond the audit hook; of those, what `torch.save` writes is looked at before.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NO_FOLDER = -1
_OF_THE_PROCESS = ("/dev/", "/proc/")
"""Where what is written is no file, or has a name that no other run chooses."""
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
"""Audit events that change files: which arguments are paths, and which the descriptors of the folders they start in."""


class Guard:
    """Refuses to change anything below the folder `original`, but for what is below `copies`.

    `share` is told, once, of something outside of both that other runs could see: a file that is written, or a port.
    """

    def __init__(self, original: str, copies: str, share: Callable[[str], None]) -> None:
        self._original = f"{Path(original).resolve()}{os.sep}"
        self._copies = f"{Path(copies).resolve()}{os.sep}"
        self._share = share
        self._has_shared = False

    def install(self) -> None:
        sys.addaudithook(self._audit)

    def follow_torch(self, torch: ModuleType) -> None:
        """An action for `AfterImport` on torch."""
        serialization: Any = torch.serialization
        torch.save = serialization.save = self._asking(serialization.save)  # type: ignore[attr-defined]

    def refuse(self, path: Any, folder: int = _NO_FOLDER) -> None:
        """Let `path` pass, which starts in the folder of that descriptor, or else in the working directory.

        Raises:
            PermissionError: it lies in the original tree.
        """
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        named = _start(folder) / os.fsdecode(path)
        whole = str(named.parent.resolve() / named.name)
        if whole.startswith(self._copies):
            return
        if whole.startswith(self._original):
            raise PermissionError(errno.EACCES, "a replay may not write to the original tree", str(named))
        if not whole.startswith(_OF_THE_PROCESS):
            self._tell(whole)

    def _tell(self, what: str) -> None:
        if not self._has_shared:
            self._has_shared = True
            self._share(what)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING:
                self.refuse(path)
        elif event in _PATHS:
            for path, folder in _PATHS[event]:
                self.refuse(arguments[path], _NO_FOLDER if folder is None else arguments[folder])
        elif event == "socket.bind":
            _, address = arguments
            if isinstance(address, tuple) and len(address) > 1 and address[1]:
                self._tell(f"port {address[1]}")

    def _asking(self, save: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(save)
        def wrapped(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            self.refuse(f)
            return save(obj, f, *args, **kwargs)

        return wrapped


def _start(folder: int) -> Path:
    """The folder that a descriptor is open on, where the system tells."""
    if folder == _NO_FOLDER:
        return Path()
    try:
        return Path(f"/proc/self/fd/{folder}").readlink()
    except OSError:
        return Path()
