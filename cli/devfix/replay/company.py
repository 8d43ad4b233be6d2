"""Which runs go on at the same time, so that one that was disturbed can be made again with nothing beside it."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


@dataclass(eq=False)
class Stay:
    """The time of one run. `had_company` says whether another run went on in it."""

    had_company: bool = False


class Company:
    """Runs that go on together, or one that is alone, until it is told that it is over."""

    def __init__(self) -> None:
        self.is_over = False
        self.hardware = threading.Lock()
        """Held by the one that has the accelerators of this machine."""
        self._changed = threading.Condition()
        self._present: list[Stay] = []
        self._waiting = 0
        """How many want to be alone: nobody else comes in before they were."""

    def is_first(self, stay: Stay) -> bool:
        """Whether no other run has been there for longer."""
        return self._present[:1] == [stay]

    @contextlib.contextmanager
    def together(self) -> Iterator[Stay]:
        """Run beside others."""
        stay = Stay()
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting)
            self._present.append(stay)
            if len(self._present) > 1:
                for each in self._present:
                    each.had_company = True
        with self._until_gone(stay):
            yield stay

    @contextlib.contextmanager
    def alone(self) -> Iterator[Stay]:
        """Run when no other does, and keep others from starting."""
        stay = Stay()
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: not self._present)
                self._present.append(stay)
            except BaseException:
                self._waiting -= 1
                self._changed.notify_all()
                raise
        try:
            with self._until_gone(stay):
                yield stay
        finally:
            with self._changed:
                self._waiting -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def _until_gone(self, stay: Stay) -> Iterator[None]:
        try:
            yield
        finally:
            with self._changed:
                self._present.remove(stay)
                self._changed.notify_all()


def side_by_side(work: Callable[[T], R], items: Sequence[T], count: int, company: Company) -> list[R]:
    """The results of `work` on each item, so many at a time. An exception ends the runs in their `company`."""
    if min(len(items), count) < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(count) as threads:
        begun = [threads.submit(work, item) for item in items]
        try:
            return [each.result() for each in begun]
        except BaseException:
            company.is_over = True
            threads.shutdown(cancel_futures=True)
            raise
