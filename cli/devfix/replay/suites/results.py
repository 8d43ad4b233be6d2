"""What was seen of one run of a test suite, as frozen data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from devfix.replay.outcomes import ScriptError
from devfix.replay.postmortem import PostMortem

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"
LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class SuiteTest:
    """How a test ended: `outcome` is one of the three above.

    `cause` is whose the code is that failed, the `library`'s or the `tests`'; None where it is neither's. `gap` is what
    it met that is not simulated, and `lines` are the watched lines, with their files, that it ran.
    """

    id: str
    outcome: str
    seconds: float = 0.0
    error: ScriptError | None = None
    cause: str | None = None
    gap: str | None = None
    lines: frozenset[tuple[str, int]] = frozenset()
    postmortem: PostMortem | None = None

    @property
    def passed(self) -> bool:
        return self.outcome == PASSED

    @property
    def failed(self) -> bool:
        return self.outcome == FAILED

    @property
    def wants_device(self) -> bool:
        """Whether it could not be seen on the plain CPU: it was skipped, or asked for a device that is not there."""
        if self.failed:
            return self.error is not None and self.error.is_device_error
        return self.outcome == SKIPPED

    @property
    def reveals(self) -> ScriptError | None:
        """The device error of the library with which it failed."""
        is_of_library = self.failed and self.gap is None and self.cause == LIBRARY
        return self.error if is_of_library and self.error is not None and self.error.is_device_error else None


@dataclass(frozen=True)
class SuiteRun:
    """The tests of one run by their ids, in the order in which they ran.

    `collected` is how many there are, None where pytest did not come so far; `uncollected` are the files that could not
    be imported, as tests that failed. `interrupted` is the test in which the run ended.
    """

    tests: Mapping[str, SuiteTest] = field(default_factory=dict)
    collected: int | None = None
    uncollected: Mapping[str, SuiteTest] = field(default_factory=dict)
    interrupted: str | None = None

    @property
    def all(self) -> Iterator[SuiteTest]:
        """Every result, those of files that could not be imported first."""
        yield from self.uncollected.values()
        yield from self.tests.values()

    def find(self, test: str) -> SuiteTest | None:
        """How a test ended: where its file could not be imported, as that did."""
        found = self.tests.get(test)
        if found is not None:
            return found
        return next((one for file, one in self.uncollected.items() if is_of(test, file)), None)


def is_of(test: str, collector: str) -> bool:
    """Whether a test is in the file or the class with that id."""
    return test.startswith((f"{collector}::", f"{collector}/"))
