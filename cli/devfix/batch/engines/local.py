"""On this machine: so many workers at a time, each a process for one repository."""

import platform
import queue
import threading
from collections.abc import Generator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from devfix.analysis.runner import processors
from devfix.batch.engines import Ended, Source, Started, ended
from devfix.batch.engines.slots import Slot, environment, executes
from devfix.batch.engines.supervising import Program, Stop, supervise
from devfix.batch.records import Job
from devfix.replay.processes import Tick, nobody_watches
from devfix.reporting.terminal import one_line

_TICK_SECONDS = 0.2


class Local:
    """The engine of one machine. The workers share its cores.

    Where there are slots, a worker that executes code has one to itself, and others wait for one. Half as many workers
    as cores unless told otherwise: a replay alone keeps several busy.
    """

    name = "local"

    def __init__(self, workers: int | None = None, slots: Sequence[Slot] = (), program: Program | None = None) -> None:
        cores = processors()
        self.workers = max(1, cores // 2 if workers is None else workers)
        self._cores = max(1, cores // self.workers)
        self._slots = tuple(slots)
        self._program = program or Program()

    def run(self, source: Source, started: Started, tick: Tick = nobody_watches) -> Generator[Ended, None, None]:
        """See `Engine`."""
        crew = _Crew(self._program, self.workers, self._slots)
        waiting: Job | None = None
        try:
            while True:
                while crew.has_room and (job := waiting or source()) is not None:
                    waiting = job if executes(job) and not crew.has_slot else None
                    if waiting is not None:
                        break
                    crew.start(job, self._cores, started)
                if crew.is_idle:
                    return
                yield crew.next(tick)
        finally:
            crew.end()


class _Crew:
    """The workers and what they hold. One thread for each that is at work, which watches its process."""

    def __init__(self, program: Program, size: int, slots: Sequence[Slot]) -> None:
        self._program = program
        self._host = platform.node()
        self._free = list(range(size, 0, -1))
        self._slots = list(reversed(slots))
        self._lacks_slots = not slots
        self._ended: queue.SimpleQueue[tuple[int, Slot | None, Ended]] = queue.SimpleQueue()
        self._threads: dict[int, threading.Thread] = {}
        self._stop = Stop()

    @property
    def has_room(self) -> bool:
        return bool(self._free)

    @property
    def has_slot(self) -> bool:
        return self._lacks_slots or bool(self._slots)

    @property
    def is_idle(self) -> bool:
        return not self._threads

    def start(self, job: Job, cores: int, started: Started) -> None:
        number = self._free.pop()
        slot = self._slots.pop() if executes(job) and self._slots else None
        worker = f"{self._host}/{number}"
        started(job, worker)
        told = replace(job, cores=cores, environment=environment(job, slot))
        thread = threading.Thread(target=self._work, args=(number, slot, job, told, worker), daemon=True)
        self._threads[number] = thread
        thread.start()

    def next(self, tick: Tick) -> Ended:
        """Wait for one to end; its worker and its slot are free again."""
        while True:
            with suppress(queue.Empty):
                number, slot, ended = self._ended.get(timeout=_TICK_SECONDS)
                break
            tick()
        self._threads.pop(number).join()
        self._free.append(number)
        if slot is not None:
            self._slots.append(slot)
        return ended

    def end(self) -> None:
        """End all that is going on."""
        self._stop.say()
        for thread in self._threads.values():
            thread.join()
        self._stop.close()

    def _work(self, number: int, slot: Slot | None, job: Job, told: Job, worker: str) -> None:
        try:
            answer = supervise(told, self._program, self._stop)
        except Exception as error:  # or the run would wait for it forever
            answer = f"its process could not be watched: {one_line(str(error))}"
        self._ended.put((number, slot, ended(job, answer, worker)))
