"""The end of a run in a fork: what an interpreter does at its end, but for taking apart what was imported before.

That would take longer than most of these runs, for an interpreter lets go of its objects one by one, and C then of
those of torch. What the run itself has imported and made goes as it would: files are flushed, `__del__` is called.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import io
import sys
import weakref
from collections.abc import Iterator
from types import ModuleType

_kept: list[ModuleType] = []
_status: int | None = None


def install() -> None:
    """Have `_leave` called at the end. To be called first of all: what is registered first comes last."""
    atexit.register(_leave)


def begin() -> None:
    """A run begins, in this process: what is imported by now belongs to all of them."""
    _kept.extend(sys.modules.values())
    library = ctypes.CDLL(None)
    if hasattr(library, "on_exit") and hasattr(library, "fcloseall"):  # these come after what the script registers
        library.on_exit(library._exit, None)
        library.on_exit(library.fcloseall, None)


def expect(status: int) -> None:
    """The exit status that the run is about to end with."""
    global _status
    _status = status


def _leave() -> None:
    if _status is None or not _kept or not _is_flushed():
        return  # the interpreter ends as always, and tells of what could not be written
    _let_go()
    if _is_flushed():
        ctypes.PyDLL(None).exit(_status)  # with the lock of the interpreter: no other thread goes on meanwhile


def _let_go() -> None:
    """Let go of the modules of the run in the order in which an interpreter does (`finalize_modules` of CPython)."""
    atexit._clear()  # functions of the run, which hold on to its variables
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        vars(sys).pop(name, None)
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    left = [weakref.ref(module) for module in _taken()]
    gc.collect()
    for reference in reversed(left):
        module = reference()
        if module is not None:
            _clear(vars(module))
    gc.collect()
    _close_files()


def _taken() -> Iterator[ModuleType]:
    """The modules of the run, which are taken from those that are imported."""
    kept = set(map(id, _kept))
    for name, module in list(sys.modules.items()):
        if id(module) not in kept:
            del sys.modules[name]
            if isinstance(module, ModuleType):
                yield module


def _clear(names: dict[str, object]) -> None:
    """Names with one underscore first, as `_PyModule_ClearDict` does."""
    for private in (True, False):
        for name in list(names):
            if name != "__builtins__" and (not private or (name[:1] == "_" and name[1:2] != "_")):
                names[name] = None


def _close_files() -> None:
    """Close the files of what is left, since it is kept by what was there before the run: a hook of torch, say.

    What may write into another file comes before that.
    """
    files = [one for one in gc.get_objects() if issubclass(type(one), io.IOBase)]
    for file in sorted(files, key=_layer):
        with contextlib.suppress(Exception):
            file.close()


def _layer(file: io.IOBase) -> int:
    if isinstance(file, io.TextIOBase):
        return 0
    if not isinstance(file, (io.BufferedIOBase, io.RawIOBase)) or type(file).__module__ != "_io":
        return 1  # such as those that compress
    return 2 if isinstance(file, io.BufferedIOBase) else 3


def _is_flushed() -> bool:
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except Exception:
        return False
    return True
