"""A process that imports torch once, and forks for each run.

It is told what to do through a socket (see `wire`), and never touches a device itself. A *branch* is a fork that goes
on as a server of its own, with a simulated accelerator, ready to search for drivers, or with more imported; a *run* is
one that becomes the interpreter of a script, under a `supervisor`. All end when nobody holds the other end of their
socket any more.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import socket
import warnings
import weakref
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import deprecations, leaving, simulating, supervisor, wire
from .shelf import Shelf

_REAP_SECONDS = 1.0


class Run(NamedTuple):
    """The arguments of a process that was forked for a run, as `main` takes them, and what was imported for it."""

    arguments: Sequence[str]
    shelf: Shelf


def serve(descriptor: int) -> Run:
    """Serve at the socket `descriptor`. Returns in each process that is forked for a run, and nowhere else.

    Raises:
        ImportError: there is no torch.
        OSError: this system has not what is needed.
    """
    os.set_inheritable(descriptor, False)
    supervisor.protect()
    for output in (1, 2):
        file = os.memfd_create("output")
        os.dup2(file, output)
        os.close(file)
    deprecations.install()
    shelf = Shelf()
    with contextlib.suppress(ModuleNotFoundError):
        shelf.fill("numpy")  # which torch imports where it is there
        shelf.extend("numpy.random")  # which is seeded
    shelf.fill("torch")
    shelf.extend(f"{__package__}.session")
    return _Server(socket.socket(fileno=descriptor), shelf).serve()


class _Server:
    def __init__(self, link: socket.socket, shelf: Shelf) -> None:
        self._link = link
        self._shelf = shelf

    def serve(self) -> Run:
        self._settle()
        while True:
            message = self._next()
            if message is None:
                os._exit(0)
            if _fork() == 0:
                self._link.close()
                return self._forked(message)
            for descriptor in message.descriptors:
                os.close(descriptor)

    def _settle(self) -> None:
        """Leave what was imported alone: memory that nobody writes to stays shared, and its end is not ours to see."""
        for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
            finalizer.atexit = False
        gc.collect()
        gc.freeze()

    def _next(self) -> wire.Message | None:
        while not select.select([self._link], [], [], _REAP_SECONDS)[0]:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    """Another one is gone."""
        return wire.receive(self._link)

    def _forked(self, message: wire.Message) -> Run:
        link, *outputs = message.descriptors
        if "run" in message.content:
            supervisor.fork_run(socket.socket(fileno=link), outputs)
            return self._begun(**message.content["run"])
        return self._branch(socket.socket(fileno=link), **message.content["branch"])

    def _begun(self, arguments: Sequence[str], folder: str, environment: dict[str, str]) -> Run:
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment)
        os.chdir(folder)
        leaving.begin()
        self._shelf.hide()
        return Run(arguments, self._shelf)

    def _branch(
        self, link: socket.socket, modules: Sequence[str], simulate: dict[str, Any] | None, search: bool
    ) -> Run:
        gc.unfreeze()
        if simulate is not None:
            self._shelf.extend(f"{__package__}.simulated.surface")
            simulating.simulation(simulate)
        if search:
            self._shelf.extend(f"{__package__}.harness.running")
        for name in modules:
            self._shelf.fill(name)
        return _Server(link, self._shelf).serve()


def _fork() -> int:
    with warnings.catch_warnings():
        # Libraries of numpy have threads, which they end before a fork and start again after it.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()
