"""Jobs on several processes, where a process that dies or hangs costs only the job that it was at.

Each worker holds one job at a time, so the guilty job is known without guessing. A job whose worker died is tried once
more, alone, when all others are done: memory may have run out because of a neighbour.

The time limit counts processor time, so that a busy machine cuts nothing short; the clock only ends what waits forever.
"""

import contextlib
import gc
import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

from devfix.rules.plugins import carried

Job = TypeVar("Job")
Answer = TypeVar("Answer")

CLOCK_SECONDS = 600.0
"""How long a job may take by the clock, where processor time is what is limited."""

_ORPHAN_CHECK_SECONDS = 2.0
_COUNTS_CPU = hasattr(signal, "setitimer")
"""Whether the system ends a process at a limit of processor time. Without that, the clock alone counts."""
_JOBS_PER_COLLECTION = 2000
"""A hundred files leave less than a thousand objects in cycles; to find them, all trees have to be looked through."""


@dataclass(frozen=True)
class Lost:
    """No answer, and why: the worker died, which may have been chance, or was ended at the time limit."""

    reason: str
    may_be_chance: bool = field(default=False, compare=False)


class _Worker(Generic[Job, Answer]):
    def __init__(self, lane: int, function: Callable[[Job], Answer], seconds: float, clock: float) -> None:
        self.lane = lane
        self._seconds, self._clock = seconds, clock if _COUNTS_CPU else seconds
        self.pipe, other = multiprocessing.Pipe()
        self.process = _new_process(_serve, (other, function, os.getpid(), seconds))
        _flush()
        self.process.start()
        other.close()

    def give(self, number: int, job: Job) -> None:
        self.number, self.job = number, job
        self.deadline = time.monotonic() + self._clock
        with contextlib.suppress(OSError):  # a worker that died while idle: `take` will say so
            self.pipe.send(job)

    def take(self) -> Answer | Lost | None:
        """What became of the job; None while it runs."""
        try:
            if self.pipe.poll():
                answer: Answer = self.pipe.recv()
                return answer
        except (EOFError, OSError):
            return self._died()
        if not self.process.is_alive():
            return self._died()
        return Lost(f"not done within {self._clock:g} s") if time.monotonic() > self.deadline else None

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()

    def _died(self) -> Lost:
        self.process.join()
        code = self.process.exitcode or 0
        if _COUNTS_CPU and code == -signal.SIGPROF:
            return Lost(f"not done within {self._seconds:g} s of processor time")
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return Lost(f"the analysis process died ({how})", may_be_chance=True)


class Pool(Generic[Job, Answer]):
    """Runs `function` in at most `size` processes, with at most `seconds` of processor time for each job.

    By the clock, a job may take `clock` seconds. Processes are started when there is a job and none is idle. They have
    the plug-ins of this one, forks or not.
    """

    def __init__(
        self, function: Callable[[Job], Answer], size: int, seconds: float, clock: float = CLOCK_SECONDS
    ) -> None:
        self._new_worker: Callable[[int], _Worker[Job, Answer]] = lambda lane: _Worker(
            lane, carried(function), seconds, clock
        )
        self._size = size
        self._busy: list[_Worker[Job, Answer]] = []
        self._idle: list[_Worker[Job, Answer]] = []

    def run(self, jobs: Iterable[tuple[int, Job]]) -> Iterator[tuple[int, Answer | Lost]]:
        """Each job's number with its answer, in the order in which they are done."""
        return self.run_lanes(_one_after_another(jobs))

    def run_lanes(self, following: Callable[[int], tuple[int, Job] | None]) -> Iterator[tuple[int, Answer | Lost]]:
        """The same of jobs that `following` gives, asked with the number of the process, from 0, that is free for one.

        None ends them. A process that dies is followed by one of the same number.
        """
        postponed: list[tuple[int, Job]] = []
        try:
            for worker, answer in self._answers(following):
                if isinstance(answer, Lost) and answer.may_be_chance:
                    postponed.append((worker.number, worker.job))
                else:
                    yield worker.number, answer
            for job in postponed:
                yield from ((worker.number, answer) for worker, answer in self._answers(_one_after_another([job])))
        finally:
            for worker in self._busy + self._idle:
                worker.end()

    def ask(self, job: Job) -> Answer | Lost:
        """The answer to one job. Its process stays for the next one, until `kill`."""
        return next(answer for _, answer in self._answers(_one_after_another([(0, job)])))

    def kill(self) -> None:
        """End all processes, from whichever thread: who waits for an answer gets `Lost`."""
        for worker in [*self._busy, *self._idle]:
            worker.process.kill()

    def _answers(
        self, following: Callable[[int], tuple[int, Job] | None]
    ) -> Iterator[tuple[_Worker[Job, Answer], Answer | Lost]]:
        are_more = True
        while are_more or self._busy:
            while are_more and len(self._busy) < self._size:
                lane = self._free_lane()
                job = following(lane)
                are_more = job is not None
                if job is not None:
                    self._dispatch(lane, *job)
            if self._busy:
                self._sleep()
            yield from self._taken()

    def _free_lane(self) -> int:
        """The number of a process that has nothing to do, or of one that is still to be started."""
        if self._idle:
            return self._idle[-1].lane
        taken = {worker.lane for worker in self._busy}
        return next(lane for lane in itertools.count() if lane not in taken)

    def _dispatch(self, lane: int, number: int, job: Job) -> None:
        with _no_interrupts():
            worker = self._idle.pop() if self._idle else self._new_worker(lane)
            self._busy.append(worker)
        worker.give(number, job)

    def _sleep(self) -> None:
        """Until a worker has something to say."""
        first = min(worker.deadline for worker in self._busy)
        heard: list[Any] = [worker.pipe for worker in self._busy] + [worker.process.sentinel for worker in self._busy]
        wait(heard, timeout=max(0.0, first - time.monotonic()) + 0.01)

    def _taken(self) -> Iterator[tuple[_Worker[Job, Answer], Answer | Lost]]:
        for worker in list(self._busy):
            answer = worker.take()
            if answer is None:
                continue
            self._busy.remove(worker)
            if isinstance(answer, Lost):
                worker.end()
            else:
                self._idle.append(worker)
            yield worker, answer


def _one_after_another(jobs: Iterable[tuple[int, Job]]) -> Callable[[int], tuple[int, Job] | None]:
    """The jobs as they come, whichever process is free."""
    rest = iter(jobs)
    return lambda _: next(rest, None)


def forks() -> bool:
    """Whether a worker can be a fork of this process: cheap, and sound only while no other thread runs."""
    return sys.platform == "linux" and threading.active_count() == 1


def _new_process(target: Callable[..., None], arguments: tuple[Any, ...]) -> BaseProcess:
    if forks():
        return multiprocessing.get_context("fork").Process(target=target, args=arguments, daemon=True)
    return multiprocessing.get_context("spawn").Process(target=target, args=arguments, daemon=True)


@contextlib.contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ctrl-C comes behind this: what `multiprocessing` has half made says so with a traceback when it is let go, and a
    worker that nobody knows would be ended by nobody."""
    if threading.current_thread() is not threading.main_thread():  # which alone gets it
        yield
        return
    came = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
        if came:
            signal.raise_signal(signal.SIGINT)


def _serve(pipe: Connection, function: Callable[[Any], Any], parent: int, seconds: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides, and ends its workers
    if _COUNTS_CPU:
        signal.signal(signal.SIGPROF, signal.SIG_DFL)  # which ends the process, whatever code it is in
    gc.disable()  # trees hold no cycles; to look for some, over and over, takes an eighth of the time
    with contextlib.suppress(EOFError, OSError):
        for done in itertools.count(1):
            while not pipe.poll(_ORPHAN_CHECK_SECONDS):
                if os.getppid() != parent:
                    return
            job = pipe.recv()
            _limit(seconds)
            answer = function(job)
            _limit(0)
            pipe.send(answer)
            if done % _JOBS_PER_COLLECTION == 0:
                gc.collect()


def _limit(seconds: float) -> None:
    """Give this process so much processor time from now on; 0 is without a limit."""
    if _COUNTS_CPU:
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _flush() -> None:
    """What is buffered now would otherwise be written by each fork as well."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError, OSError):
            stream.flush()
