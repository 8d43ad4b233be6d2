"""All files of a run: what the cache knows, what cannot concern any rule, and the rest through the analysis.

The parent process reads and sieves; only files with something to parse travel to the workers. Results come back in the
order of the files, whatever finished first. The library is imported only when a file needs it.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING

from devfix.analysis.cache import Cache, Entry
from devfix.analysis.jobs import Job, Task
from devfix.project.discovery import File
from devfix.project.import_graph import Basis, Neighbours, path_of, top_of
from devfix.project.snapshots import Snapshot, State
from devfix.reporting.progress import Advance
from devfix.results import Checked, Failed, Place, Result, Skipped

if TYPE_CHECKING:
    from devfix.analysis.pool import Lost

SECONDS_PER_FILE = 60.0
_ROOM = 10_000_000
_LEAST_ROOM = 500_000
"""Bytes of source that all processes together remember, and each one at least: their trees take fifty times that."""
_FEW_BYTES = 256 * 1024
"""Where a process has to be spawned, this much is analysed sooner than the process has started."""


@dataclass(frozen=True)
class Request:
    """What to do with the files. `detailed` asks for the text of each edit; `seconds` are those of a processor.

    Files that concern no rule are parsed all the same, to name those that are no Python, unless `only_concerned`.
    """

    task: Task
    jobs: int | None = None
    detailed: bool = True
    seconds: float = SECONDS_PER_FILE
    only_concerned: bool = False


def run(files: Sequence[File], request: Request, cache: Cache, advance: Advance) -> list[Result]:
    """One result for each file, in their order."""
    return _Run(files, request, cache, advance).results()


def jobs_of(files: Sequence[File], cache: Cache) -> Callable[[File, bytes], Job]:
    """How the file with these bytes is handed to the library outside a run, standing among `files` as in one."""
    known = (path for file in files if (path := path_of(file.target)) is not None)
    neighbours, started = Neighbours(known, cache.stamps), time.time_ns()

    def job(file: File, data: bytes) -> Job:
        from devfix.rules.selection import options_of

        path = path_of(file.target)
        place = neighbours.place(path, started, _ROOM) if path is not None else None
        return Job(file.target, data, options_of(file.choice), Task.REWRITE, place=place)

    return job


class _Run:
    def __init__(self, files: Sequence[File], request: Request, cache: Cache, advance: Advance) -> None:
        self._files = files
        self._request = request
        self._cache = cache
        self._advance = advance
        self._results: dict[int, Result] = {}
        self._pending: dict[int, Job] = {}
        self._paths = tuple(path for file in files if (path := path_of(file.target)) is not None)
        self._neighbours = Neighbours(self._paths, cache.stamps)
        self._resting: list[str] = []
        self._started = time.time_ns()
        self._size = request.jobs or processors()
        self._room = max(_ROOM // self._size, _LEAST_ROOM)
        self._order = _Order(len(files), self._size)

    def results(self) -> list[Result]:
        try:
            for number, answer in self._answers():
                self._done(number, self._received(number, answer))
        finally:
            self._keep_neighbours()
            self._cache.save()
        return [self._results[number] for number in range(len(self._files))]

    def _next(self, lane: int) -> tuple[int, Job] | None:
        """The next file for a process that needs the analysis. All before it get their result on the way."""
        while (number := self._order.next(lane)) is not None:
            result = self._at_hand(self._files[number])
            if isinstance(result, Job):
                self._pending[number] = result
                return number, result
            self._done(number, result)
        return None

    def _at_hand(self, file: File) -> Result | Job:
        known = self._cache.by_time(file.target.path, file.mtime_ns, file.size, file.choice)
        if known is not None and self._enough(known) and self._holds(file, known):
            return _remembered(file, known)
        try:
            data = file.target.read()
        except OSError as error:
            return Failed(file.target, f"cannot be read: {error.strerror}")
        return self._sieved(file, data)

    def _sieved(self, file: File, data: bytes) -> Result | Job:
        from devfix_codemods.notebooks.notebook import is_notebook, may_use_torch
        from devfix_codemods.source import parses
        from devfix_codemods.triggers import any_triggered

        from devfix.rules.selection import options_of, rules_of

        if is_notebook(file.target.label):
            concerned = may_use_torch(data)
        else:
            concerned = any_triggered(data, rules_of(file.choice)) or b"devfix:" in data
        if not concerned and (self._request.only_concerned or is_notebook(file.target.label) or parses(data)):
            self._cache.keep_clean(file.target.path, file.mtime_ns, file.size, file.choice)
            return Checked(file.target, (), analysed=False)
        known = self._cache.by_content(file.target.path, data, file.mtime_ns, file.choice)
        if known is not None and self._enough(known) and self._holds(file, known):
            return _remembered(file, known)
        options, request = options_of(file.choice), self._request
        return Job(file.target, data, options, request.task, request.detailed, self._place(file))

    def _place(self, file: File) -> Place | None:
        """Where the file stands in its project; None for a text that has no name."""
        path = path_of(file.target)
        return self._neighbours.place(path, self._started, self._room) if path is not None else None

    def _holds(self, file: File, known: Entry) -> bool:
        """Whether the other files that the entry rests on are what they were."""
        if known.basis is None:
            return True
        path = file.target.path
        as_before = self._unchanged is not None and self._unchanged[0] == known.snapshot
        if not as_before and self._neighbours.basis(path, known.basis.others) != known.basis:
            return False
        self._resting.append(path)
        return True

    @cached_property
    def _unchanged(self) -> tuple[bytes, Snapshot] | None:
        """What the last run over the same files looked at, with its name, if all of it is as it was."""
        snapshot = self._cache.snapshot(self._paths)
        states = {file.target.path: State(file.mtime_ns, file.size) for file in self._files}
        return (snapshot.name, snapshot) if snapshot is not None and snapshot.holds(top_of, states) else None

    def _keep_neighbours(self) -> None:
        """Remember what was looked at for the bases. What an earlier snapshot answered rests on that one, too."""
        self._cache.keep_stamps(self._neighbours.stamps)
        if self._neighbours.stamps and self._resting:
            snapshot = self._neighbours.snapshot()
            whole = self._unchanged[1].joined(snapshot) if self._unchanged is not None else snapshot
            self._cache.keep_snapshot(self._paths, whole, self._resting)

    def _enough(self, known: Entry) -> bool:
        """A file with findings has to be rewritten from the start; one without has nothing to rewrite."""
        return self._request.task is Task.CHECK or not known.problems

    def _answers(self) -> Iterator[tuple[int, "Result | Lost"]]:
        first = self._next(0)
        if first is None:
            return iter(())
        from devfix_codemods import engine as _engine  # noqa: F401 - once here, not in each fork

        from devfix.analysis.one_file import analyse
        from devfix.analysis.pool import Pool, forks

        if not forks() and sum(file.size for file in self._files) < _FEW_BYTES:
            jobs = chain([first], iter(partial(self._next, 0), None))
            return ((number, analyse(job)) for number, job in jobs)
        begun = [first]

        def following(lane: int) -> tuple[int, Job] | None:
            return begun.pop() if begun else self._next(lane)

        return Pool(analyse, self._size, self._request.seconds).run_lanes(following)

    def _received(self, number: int, answer: "Result | Lost") -> Result:
        from devfix.analysis.pool import Lost

        job = self._pending.pop(number)
        if isinstance(answer, Lost):
            return Failed(job.target, answer.reason)
        if self._request.task is Task.CHECK:
            self._remember(self._files[number], job.data, answer)
        return answer

    def _remember(self, file: File, data: bytes, result: Result) -> None:
        place = (file.target.path, data, file.mtime_ns, file.choice)
        if isinstance(result, Checked):
            self._cache.keep(*place, found=result.problems, ignored=result.ignored, basis=self._basis(file, result))
        elif isinstance(result, Skipped):
            self._cache.keep(*place, skipped=result.reason)

    def _basis(self, file: File, result: Checked) -> Basis | None:
        if result.rests_on is None:
            return None
        self._resting.append(file.target.path)
        return self._neighbours.basis(file.target.path, result.rests_on)

    def _done(self, number: int, result: Result) -> None:
        self._results[number] = result
        self._advance(len(self._results), len(self._files))


class _Order:
    """Which of `count` files each of `size` processes takes next: neighbours go to the same one, as far as that may be.

    What they import has to be read in each process that has one of them.
    """

    def __init__(self, count: int, size: int) -> None:
        bounds = [count * lane // size for lane in range(size + 1)]
        self._rest = [deque(range(start, end)) for start, end in pairwise(bounds)]

    def next(self, lane: int) -> int | None:
        """The number of a file, from the far end of the longest row where that of the process is done."""
        if own := self._rest[lane]:
            return own.popleft()
        longest = max(self._rest, key=len)
        return longest.pop() if longest else None


def _remembered(file: File, known: Entry) -> Result:
    if known.skipped is not None:
        return Skipped(file.target, known.skipped)
    return Checked(file.target, known.problems, known.ignored, analysed=bool(known.content))


def processors() -> int:
    """How many processes may run at once."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
