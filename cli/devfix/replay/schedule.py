"""Runs of programs: each is made once, and what is likely to be asked for is made before, side by side."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from devfix.replay.backends import Backend
from devfix.replay.outcomes import Outcome
from devfix.replay.programs import Program
from devfix.replay.stage import Stage, Unwanted, always
from devfix.replay.workspace import WorkspaceError


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a program: what it is called, where it runs, and with which `files` in the place of the originals.

    `is_original` says that the tree is as the user has it. `suffix` tells another run of the same. `watch` are the
    lines, by file, whose running is to be known.
    """

    program: Program
    step: str
    backend: Backend
    files: Mapping[Path, bytes | None] = field(default_factory=dict)
    watch: Mapping[str, Sequence[int]] = field(default_factory=dict)
    is_original: bool = False
    suffix: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from others."""
        files = None if self.is_original else frozenset(self.files.items())
        return self.program, self.backend.name, files, self.suffix


class Schedule:
    """The runs on a stage. Use as a context manager: leaving it gives up what was begun and nobody asked for."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._made: dict[tuple[object, ...], Future[Outcome]] = {}
        self._lock = threading.Lock()
        self._is_open = True
        self._threads = ThreadPoolExecutor(stage.parallel_runs) if stage.parallel_runs > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_open = False
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)

    def ahead(self, work: Callable[[], object]) -> None:
        """Have `work` ask for outcomes that are likely to be asked for; nothing where runs go one after the other."""

        def until_unwanted() -> None:
            try:
                work()
            except (Unwanted, WorkspaceError):
                """Who needs it will see."""

        if self._threads is not None:
            self._threads.submit(until_unwanted)

    def outcome(self, run: Run, wanted: Callable[[], bool] = always) -> Outcome:
        """What comes of a run. It is given up where it is not `wanted` any more.

        Raises:
            WorkspaceError: the tree could not be copied.
            Unwanted: it was given up.
        """
        while True:
            future, is_ours = self._future(run)
            if is_ours:
                self._make(run, wanted, future)
            try:
                return future.result()
            except Unwanted:
                if is_ours:
                    raise

    def known(self, run: Run) -> Outcome | None:
        """What came of a run, where it is over."""
        future = self._made.get(run.key)
        return future.result() if future is not None and future.done() and future.exception() is None else None

    def _future(self, run: Run) -> tuple[Future[Outcome], bool]:
        """The run that was begun, or a new one that is ours to make."""
        with self._lock:
            found = self._made.get(run.key)
            if found is not None:
                return found, False
            self._made[run.key] = new = Future[Outcome]()
            return new, True

    def _make(self, run: Run, wanted: Callable[[], bool], future: Future[Outcome]) -> None:
        def is_wanted() -> bool:
            return self._is_open and wanted()

        try:
            future.set_result(self.stage.run(run.program, run.step, run.backend, run.files, run.watch, is_wanted))
        except BaseException as error:
            with self._lock:
                del self._made[run.key]
            future.set_exception(error)
            if not isinstance(error, Exception):
                raise
