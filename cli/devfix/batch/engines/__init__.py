"""Where repositories are migrated: in this process, in processes of this machine, or on a Ray cluster."""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Protocol

from msgspec.structs import replace

from devfix.batch.records import Error, Job, Outcome, State
from devfix.replay.processes import Tick, nobody_watches

Source = Callable[[], Job | None]
"""Returns the next job, or None where there is none at the moment. One that was lost may be given again: an engine asks
whenever one has ended, and is done when there is none and none is being worked on."""

Started = Callable[[Job, str], None]
"""Told of each job whose work begins, with the worker that has it."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A repository of which it is known what became of it, be it a failure."""

    job: Job
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Lost:
    """The worker died or vanished: nothing is known of the repository. `reason` is one line, fit for a terminal."""

    job: Job
    reason: str
    worker: str


Ended = Finished | Lost


def ended(job: Job, answer: Outcome | str, worker: str) -> Ended:
    """What became of `job`, from its outcome or, in one line, the reason why there is none."""
    if isinstance(answer, str):
        return Lost(job, answer, worker)
    return Finished(job, answer if answer.worker else replace(answer, worker=worker))


TIME_LIMIT = "time limit"


def time_limit(job: Job) -> Outcome:
    """What became of a repository that took too long."""
    error = Error(TIME_LIMIT, f"took longer than {job.repository.timeout:g} seconds")
    return Outcome(job.repository.name, State.FAILED, error=error)


class Engine(Protocol):
    """Works on jobs until there are none.

    A job that ends is the very one that the source gave; `cores` and `environment` of the one that is worked on are the
    engine's to choose. A repository that takes longer than its `timeout` has failed, with an error of the kind
    `TIME_LIMIT`.
    """

    @property
    def name(self) -> str: ...

    def run(self, source: Source, started: Started, tick: Tick = nobody_watches) -> Generator[Ended, None, None]:
        """What becomes of each job, in the order in which they end.

        `source`, `started`, and `tick` now and then while nothing ends, are called in the thread that iterates, and a
        job is taken only where there is room for it. To close the iterator ends all work and every process, and so does
        an exception that passes through it.

        Raises:
            UsageError: the engine cannot run here.
        """
        ...
