"""In this process, one repository after the other: for tests, and to look into what happens."""

import os
import platform
import signal
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from msgspec.structs import replace

from devfix.analysis.runner import processors
from devfix.batch.engines import Ended, Source, Started, ended, time_limit
from devfix.batch.engines.slots import Slot
from devfix.batch.engines.slots import environment as accelerators
from devfix.batch.engines.supervising import Program
from devfix.batch.migration.worker import environment, function_named
from devfix.batch.records import Job, Outcome
from devfix.replay.processes import Tick, nobody_watches
from devfix.reporting.terminal import one_line


class Inline:
    """An engine without processes. What a repository does to its process it does to this one.

    Time limits hold in the main thread.
    """

    name = "inline"

    def __init__(self, slots: tuple[Slot, ...] = (), program: Program | None = None) -> None:
        self._slot = slots[0] if slots else None
        self._program = program or Program()

    def run(self, source: Source, started: Started, tick: Tick = nobody_watches) -> Generator[Ended, None, None]:
        """See `Engine`."""
        worker = platform.node()
        while (job := source()) is not None:
            started(job, worker)
            told = replace(job, cores=processors(), environment=accelerators(job, self._slot))
            yield ended(job, self._answer(told), worker)

    def _answer(self, told: Job) -> Outcome | str:
        function = function_named(self._program.function)
        try:
            with _environment(environment(told)), _time_limit(told.repository.timeout):
                return function(told)
        except _TimeIsUp:
            return time_limit(told)
        except Exception as error:
            return f"it failed: {one_line(f'{type(error).__name__}: {error}')}"


class _TimeIsUp(KeyboardInterrupt):
    """What is under way ends as if it was interrupted."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGALRM, _time_is_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _time_is_up(number: int, frame: FrameType | None) -> NoReturn:
    raise _TimeIsUp


@contextmanager
def _environment(added: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
