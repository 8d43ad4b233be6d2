"""A suite on the simulation against the same on the plain CPU: which tests reveal device errors of the library."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from devfix.replay.outcomes import SKIPPED, Ending, Outcome, ScriptError, SuiteRun, SuiteTest, is_of
from devfix.replay.postmortem import PostMortem


class Sort(StrEnum):
    """What the two runs of a test say together. A closed set.

    A test that does not pass on the plain CPU counts for nothing, unless that is for want of a device.
    """

    ALIKE = "as on the CPU"
    REVEALS = "device error in the library"
    OF_TESTS = "device error in the tests"
    OTHERWISE = "fails otherwise"
    NOT_SIMULATED = "not simulated"
    SKIPPED = "skipped"
    FAILS_ANYWAY = "fails on the CPU too"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Bug:
    """A device error of the library, by its place in there, and the tests that fail with it."""

    error: ScriptError
    tests: tuple[str, ...]
    postmortem: PostMortem | None = None


@dataclass(frozen=True)
class Comparison:
    """Each test's sort, and the bugs that they reveal. `ends` says why not all tests ran, where they did not.

    `uncollected` are the files that cannot be imported on the plain CPU, and not for want of a device alone: they count
    for nothing.
    """

    sorts: dict[str, Sort]
    bugs: tuple[Bug, ...]
    results: dict[str, SuiteTest]
    ends: str | None = None
    uncollected: tuple[SuiteTest, ...] = ()

    def count(self, sort: Sort) -> int:
        """How many tests are of that sort."""
        return sum(one is sort for one in self.sorts.values())

    def of(self, sort: Sort) -> list[str]:
        """The tests of that sort."""
        return [test for test, one in self.sorts.items() if one is sort]


def compared(plain: Outcome, simulated: Outcome) -> Comparison:
    """What two runs of a suite say of each test."""
    return compare(plain.suite or SuiteRun(), simulated.suite or SuiteRun(), _cut(plain) or _cut(simulated))


def _cut(outcome: Outcome) -> str | None:
    """Why the run did not come to its end, in words that follow "the suite"."""
    suite = outcome.suite or SuiteRun()
    last = f" in {suite.interrupted}" if suite.interrupted is not None else ""
    if outcome.ending is Ending.TIMED_OUT:
        return f"ran into the time limit of {outcome.seconds:.0f} s{last} (--timeout)"
    if outcome.ending is Ending.OVERRAN:
        return f"{outcome.reason}{last}"
    if outcome.ending is Ending.KILLED:
        return f"was ended by {outcome.signal}{last}"
    if (error := internal_error(outcome)) is not None:
        return f"ended with an internal error of pytest: {error}"
    return f"ended{last}" if last else None


def internal_error(outcome: Outcome) -> str | None:
    """What pytest, or a plugin of it, ended with where no test is to blame; None where it did not."""
    if outcome.status != _INTERNAL_ERROR or outcome.suite is None:
        return None
    lines = (outcome.stdout.tail + outcome.stderr.tail).splitlines()
    return next((line[len(_MARK) :].strip() for line in reversed(lines) if line.startswith(_MARK)), "see its output")


_INTERNAL_ERROR = 3
"""`pytest.ExitCode.INTERNAL_ERROR`"""
_MARK = "INTERNALERROR>"


def compare(plain: SuiteRun, simulated: SuiteRun, ends: str | None = None) -> Comparison:
    """What the run on the plain CPU and that on the simulation say of each test."""
    sorts = {test: _sort(plain.find(test), simulated.find(test)) for test in _all(plain, simulated)}
    results = {test: found for test in sorts if (found := simulated.find(test)) is not None}
    revealing = [results[test] for test, sort in sorts.items() if sort is Sort.REVEALS]
    revealing += _uncollected(plain, simulated)
    return Comparison(sorts, tuple(_bugs(revealing, sorts, simulated)), results, ends, tuple(_unread(plain, simulated)))


def _uncollected(plain: SuiteRun, simulated: SuiteRun) -> Iterator[SuiteTest]:
    """Files of which the simulation alone gets as far as a device error of the library, when it imports them."""
    for file, one in simulated.uncollected.items():
        on_cpu = plain.uncollected.get(file)
        if one.reveals is not None and (on_cpu is None or on_cpu.wants_device):
            yield one


def _unread(plain: SuiteRun, simulated: SuiteRun) -> Iterator[SuiteTest]:
    """Files that the plain CPU cannot import, but for want of a device only those that the simulation cannot either."""
    for file, one in plain.uncollected.items():
        there = simulated.uncollected.get(file)
        if not one.wants_device:
            yield one
        elif there is not None and there.reveals is None:
            yield there


def _all(plain: SuiteRun, simulated: SuiteRun) -> dict[str, None]:
    return dict.fromkeys((*plain.tests, *simulated.tests))


def _sort(plain: SuiteTest | None, simulated: SuiteTest | None) -> Sort:
    if plain is not None and plain.failed and not plain.wants_device:
        return Sort.FAILS_ANYWAY
    if simulated is None:
        return Sort.SKIPPED if plain is not None and plain.wants_device else Sort.NOT_RUN
    if simulated.gap is not None and not simulated.passed:
        return Sort.NOT_SIMULATED
    if simulated.failed:
        return _failed(simulated)
    if simulated.outcome == SKIPPED:
        return Sort.SKIPPED
    return Sort.ALIKE


def _failed(simulated: SuiteTest) -> Sort:
    if simulated.reveals is not None:
        return Sort.REVEALS
    is_device = simulated.error is not None and simulated.error.is_device_error
    return Sort.OF_TESTS if is_device else Sort.OTHERWISE


def _bugs(revealing: Sequence[SuiteTest], sorts: dict[str, Sort], simulated: SuiteRun) -> Iterator[Bug]:
    """One for each line of the library at which tests fail; those that most tests fail with come first."""
    places: dict[tuple[str | None, int | None], list[SuiteTest]] = {}
    for one in {one.id: one for one in revealing}.values():
        assert one.error is not None
        places.setdefault((one.error.file, one.error.line), []).append(one)
    for found in sorted(places.values(), key=lambda each: -len(each)):
        told = next((one for one in found if one.postmortem is not None), found[0])
        assert told.error is not None
        tests = [test for one in found for test in _tests(one, sorts, simulated)]
        yield Bug(told.error, tuple(tests), told.postmortem)


def _tests(result: SuiteTest, sorts: dict[str, Sort], simulated: SuiteRun) -> list[str]:
    """The tests that a result stands for: all of a file's, where that could not be imported."""
    if result.id in simulated.uncollected:
        return [test for test in sorts if is_of(test, result.id)] or [result.id]
    return [result.id]
