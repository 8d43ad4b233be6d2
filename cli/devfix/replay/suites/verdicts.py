"""What the runs of a suite before and after a patch prove of it. Pure: outcomes in, a verdict out.

A patch is confirmed where tests that run it failed with a device error of the library before, and pass after, and no
test that passed fails, neither on the simulation nor on the plain CPU.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from devfix.replay.outcomes import Ending, Outcome, SuiteRun, SuiteTest
from devfix.replay.patches import Coverage, Patch
from devfix.replay.postmortem import PostMortem
from devfix.replay.suites.comparing import internal_error
from devfix.replay.verdict_kinds import Kind, Verdict, first_lines, inconclusive, never_ran

_NAMED = 3
"""How many tests a reason names."""
_FROM_OUTSIDE = "SIGKILL"
"""What the system ends a process with that takes more memory than there is."""


@dataclass(frozen=True, slots=True)
class SuiteRuns:
    """The runs on one backend: `again` is a second run of the original, where the first verdict asked for one."""

    before: Outcome
    after: Outcome
    again: Outcome | None = None


def decide_suite(
    simulated: SuiteRuns, plain: SuiteRuns, can_show: bool, patches: Mapping[str, Patch], path: str
) -> Verdict:
    """The verdict on the patch of the file `path`; `patches` are those of all files that differ.

    `can_show` says that the first runs were made where device errors show.
    """
    return _Judgement(simulated, plain, can_show, patches, path).verdict()


def as_seen_by_patch(before: Outcome, after: Outcome, patch: Patch | None, path: str) -> Outcome:
    """`before` with the device error of the first test that came to run the patch of the file `path`, if there is one.

    Without a suite it is left alone.
    """
    if before.suite is None or after.suite is None:
        return before
    ran = (test for test in after.suite.tests.values() if patch is not None and _ran(test, patch, path))
    found = next((old for test in ran if (old := before.suite.find(test.id)) is not None and old.reveals), None)
    if found is None:
        return replace(before, error=None, postmortem=None)
    return replace(before, error=found.error, postmortem=_postmortem(before.suite, found))


def _postmortem(suite: SuiteRun, test: SuiteTest) -> PostMortem | None:
    """That of the test, or of another one that failed in the same way: of each error few are told."""
    alike = (one for one in suite.all if one.error == test.error and one.postmortem is not None)
    return test.postmortem or next((one.postmortem for one in alike), None)


def _ran(test: SuiteTest, patch: Patch, path: str) -> bool:
    return bool(patch.coverage({line for file, line in test.lines if file == path}).reached)


def trouble(outcome: Outcome) -> str | None:
    """Why a run says nothing of any test; None where it does."""
    if outcome.ending is Ending.NOT_STARTED:
        return outcome.reason or "could not start"
    if outcome.suite is None or outcome.suite.collected is None:
        last = (outcome.stderr.tail or outcome.stdout.tail).strip().rpartition("\n")[2]
        return f"pytest could not run the tests: {last or outcome.failure}"
    if not outcome.suite.tests and (broken := internal_error(outcome)) is not None:
        return f"pytest could not run the tests: {broken}"
    if not outcome.suite.collected and not any(one.reveals for one in outcome.suite.uncollected.values()):
        error = next((one.error for one in outcome.suite.uncollected.values() if one.error is not None), None)
        why = "" if error is None else f" that it could import: {error.told}: {error.message}"
        return f"pytest found no tests{why}"
    return None


@dataclass(frozen=True, slots=True)
class _Judgement:
    simulated: SuiteRuns
    plain: SuiteRuns
    can_show: bool
    patches: Mapping[str, Patch]
    path: str

    def verdict(self) -> Verdict:
        for runs in (self.simulated, self.plain):
            found = trouble(runs.before)
            if found is not None:
                return inconclusive(found)
        broken = self._broken()
        if broken is not None:
            return Verdict(Kind.REFUTED, broken)
        for runs in (self.simulated, self.plain):
            if runs.after.signal == _FROM_OUTSIDE and runs.before.signal is None:
                return inconclusive("the patched suite was killed from outside, perhaps for want of memory")
            found = trouble(runs.after)
            if found is not None and (runs.after.ending is Ending.NOT_STARTED or runs.after.was_cut):
                return inconclusive(found)
            if found is not None:
                return Verdict(Kind.REFUTED, f"with the patch {found}")
        coverage = self._coverage
        if coverage.is_empty:
            return Verdict(Kind.NOT_REACHED, "no test ran the patched lines", first_lines(coverage))
        return self._of_reached()

    def _of_reached(self) -> Verdict:
        """The verdict by the tests that ran patched lines."""
        before, after = _suite(self.simulated.before), _suite(self.simulated.after)
        reached = [one for one in after.tests.values() if self._ran(one)]
        failed = [(one, old) for one in reached if (old := self._revealing(before, one.id)) is not None]
        fixed = [(new, old) for new, old in failed if new.passed]
        if fixed:
            error = fixed[0][1].error
            assert error is not None
            tests = _told([new.id for new, _ in fixed], "passes", "pass")
            return self._positive(Kind.CONFIRMED, f"{tests} now: {error.told} is gone: {error.message}")
        still = [new for new, _ in failed if self._fails_in_patch(new)]
        if still and len(still) == len(failed):
            assert still[0].error is not None
            return Verdict(Kind.REFUTED, f"still fails there: {still[0].error.told}: {still[0].error.message}")
        passing = [one.id for one in reached if one.passed and (old := before.find(one.id)) is not None and old.passed]
        return self._of_unchanged(passing, failed)

    def _of_unchanged(self, passing: Sequence[str], failed: Sequence[tuple[SuiteTest, SuiteTest]]) -> Verdict:
        if failed:
            error = failed[0][0].error
            how = "end otherwise" if error is None else f"fail with {error.told}: {error.message}"
            return inconclusive(f"the tests that failed with a device error before still {how}")
        if not passing:
            return inconclusive("no test that runs the patched lines passes both before and after")
        if not self.can_show:
            return inconclusive(f"a device bug cannot show here; {_told(passing, 'passes', 'pass')} before and after")
        return self._positive(Kind.HARMLESS, f"{_told(passing, 'passes', 'pass')} before and after")

    def _positive(self, kind: Kind, reason: str) -> Verdict:
        missed = first_lines(self._coverage)
        return Verdict(kind, reason + never_ran(missed, self._patch.cells), missed)

    # Tests

    def _revealing(self, before: SuiteRun, test: str) -> SuiteTest | None:
        """The result of a test that failed with a device error of the library, and not on the plain CPU."""
        found = before.find(test)
        on_cpu = _suite(self.plain.before).find(test)
        counts = on_cpu is None or not on_cpu.failed or on_cpu.wants_device
        return found if counts and found is not None and found.reveals is not None else None

    def _ran(self, test: SuiteTest) -> bool:
        return _ran(test, self._patch, self.path)

    def _fails_in_patch(self, test: SuiteTest) -> bool:
        error = test.error
        return error is not None and error.line is not None and self._is_patched(error.file, error.line)

    def _is_patched(self, file: str | None, line: int) -> bool:
        patch = self.patches.get(file or "")
        return patch is not None and patch.is_patched(line)

    def _broken(self) -> str | None:
        """What passed and does not any more, in words."""
        for runs, where in ((self.plain, " on the plain CPU"), (self.simulated, "")):
            broken = [test for test in lost(runs.before, runs.after) if not _is_unsteady(runs, test)]
            if broken:
                error = (_suite(runs.after).find(broken[0]) or SuiteTest(broken[0], "")).error
                why = f": {error.told}: {error.message}" if error is not None else ""
                return f"{_told(broken, 'fails', 'fail')}{where} where the original did not{why}"
            if runs.after.signal not in (None, _FROM_OUTSIDE) and not _may_die(runs):
                return f"the tests end with signal {runs.after.signal}{where}, which they did not"
        return None

    @property
    def _patch(self) -> Patch:
        return self.patches[self.path]

    @property
    def _coverage(self) -> Coverage:
        after = _suite(self.simulated.after)
        lines = {line for one in after.tests.values() for file, line in one.lines if file == self.path}
        lines |= {line for file, line in self.simulated.after.reached if file == self.path}
        return self._patch.coverage(lines)


def _suite(outcome: Outcome) -> SuiteRun:
    return outcome.suite or SuiteRun()


def lost(before: Outcome, after: Outcome) -> Iterator[str]:
    """Tests that pass before and fail after. What the time limit kept from running has not failed."""
    for test in _suite(before).tests.values():
        now = _suite(after).find(test.id)
        if test.passed and now is not None and now.failed and now.gap is None:
            yield test.id


def _is_unsteady(runs: SuiteRuns, test: str) -> bool:
    """Whether the original itself passes a test only at times."""
    again = None if runs.again is None else _suite(runs.again).find(test)
    return again is not None and not again.passed


def _may_die(runs: SuiteRuns) -> bool:
    """Whether the original itself ends with a signal, if only at times."""
    return any(one is not None and one.signal is not None for one in (runs.before, runs.again))


def _told(tests: Sequence[str], singular: str, plural: str) -> str:
    """`3 tests (a, b, c) pass`."""
    if len(tests) == 1:
        return f"{tests[0]} {singular}"
    more = ", …" if len(tests) > _NAMED else ""
    return f"{len(tests)} tests ({', '.join(tests[:_NAMED])}{more}) {plural}"
