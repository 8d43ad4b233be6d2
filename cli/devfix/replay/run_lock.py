"""A lock for runs: most share it, and one that was disturbed by others is made again while it holds the lock alone."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class Hold:
    """The time for which a run holds the lock. `overlapped` says whether another run held it, too."""

    overlapped: bool = False


class RunLock:
    """Held by runs that go on together, or by one alone, until no more runs are wanted: `is_cancelled`."""

    def __init__(self) -> None:
        self.is_cancelled = False
        self.hardware = threading.Lock()
        """Held by the one that has the accelerators of this machine."""
        self._changed = threading.Condition()
        self._holds: list[Hold] = []
        self._waiting = 0
        """How many wait to hold it alone: until they had it, nobody else gets it."""

    def is_oldest(self, hold: Hold) -> bool:
        """Whether no other run has held the lock for longer."""
        return self._holds[:1] == [hold]

    @contextlib.contextmanager
    def shared(self) -> Iterator[Hold]:
        """Run beside others."""
        hold = Hold()
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
            self._holds.append(hold)
            if len(self._holds) > 1:
                for each in self._holds:
                    each.overlapped = True
        with self._until_released(hold):
            yield hold

    @contextlib.contextmanager
    def exclusive(self) -> Iterator[Hold]:
        """Run when no other does, and keep others from starting."""
        hold = Hold()
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._holds)
                self._holds.append(hold)
            except BaseException:
                self._waiting -= 1
                self._changed.notify_all()
                raise
        try:
            with self._until_released(hold):
                yield hold
        finally:
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def _until_released(self, hold: Hold) -> Iterator[None]:
        try:
            yield
        finally:
            with self._changed:
                self._holds.remove(hold)
                self._changed.notify_all()


def run_in_threads(work: Callable[[T], R], items: Sequence[T], count: int, lock: RunLock) -> list[R]:
    """The results of `work` on each item, so many at a time. An exception cancels the runs that hold `lock`."""
    if min(len(items), count) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(count) as threads:
        begun = [threads.submit(work, item) for item in items]
        try:
            return [each.result() for each in begun]
        except BaseException:
            lock.is_cancelled = True
            threads.shutdown(cancel_futures=True)
            raise
