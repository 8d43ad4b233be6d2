"""Repairing what a project's own tests reveal: one error of the library after the other, each by one of its tests.

Which tests reveal it and whether a patch costs a test is seen by running the suite; candidates are tried on one test.
"""

from dataclasses import replace

from devfix.repairing.session import Limits, Loop, Session, State
from devfix.repairing.trials import Bench
from devfix.replay.backends import Backend, PlainCpu
from devfix.replay.outcomes import Outcome, SuiteRun
from devfix.replay.programs import Program, suite_of
from devfix.replay.stage import Stage
from devfix.replay.suites.comparing import Bug, Comparison, compared
from devfix.replay.suites.verdicts import lost, trouble
from devfix.reporting.text import count


class SuiteError(Exception):
    """The suite cannot be run; the message says why."""


class SuiteLoop:
    """The tests that `program` runs, and the library under test being repaired on one backend."""

    def __init__(self, stage: Stage, program: Program, backend: Backend, limits: Limits) -> None:
        self._stage = stage
        self._program = program
        self._backend = backend
        self._limits = limits
        self._session = Session()

    def run(self) -> Session:
        """Repair as far as it goes. What is compared is the suite on the plain CPU.

        Raises:
            SuiteError: there are no tests that could be run.
        """
        before, plain = self._original("before", self._backend), self._original("before, on the plain CPU", PlainCpu())
        why = trouble(before) or trouble(plain)
        if why is not None:
            raise SuiteError(why)
        found = compared(plain, before)
        self._session.first = self._session.last = before
        for bug in found.bugs:
            self._repair(bug)
        self._session.compared = self._conclude(found, before, plain)
        return self._session

    def _original(self, step: str, backend: Backend) -> Outcome:
        return Bench(self._stage, self._program).run(step, backend, {})

    def _patched(self, step: str, backend: Backend) -> Outcome:
        return Bench(self._stage, self._program).run(step, backend, self._session.after)

    def _repair(self, bug: Bug) -> None:
        """Repair by one of the tests that reveal the error, for as long as this test fails with a device error."""
        test = suite_of(self._program.script, (*_options(self._program), bug.tests[0]))
        left = replace(self._limits, fixes=self._limits.fixes - len(self._session.fixes))
        if left.fixes > 0:
            Loop(Bench(self._stage, test), self._backend, left, self._session).run()

    def _conclude(self, found: Comparison, before: Outcome, plain: Outcome) -> str | None:
        """Set the state of the session by the suite with all fixes, and return what is `compared` then."""
        session = self._session
        if not found.bugs:
            session.state, session.reason = State.CLEAN, "no test reveals a device error of the library"
            return None
        if not session.fixes:
            reason = session.reason if session.state is State.UNREPAIRED else "no candidate made progress"
            session.state, session.reason, session.last = State.UNREPAIRED, reason, before
            return None
        session.last = after = self._patched("after", self._backend)
        on_cpu = self._patched("after, on the plain CPU", PlainCpu())
        broken = trouble(after) or trouble(on_cpu)
        if broken is None:
            failed = self._lost(before, after, self._backend) or self._lost(plain, on_cpu, PlainCpu())
            broken = None if failed is None else f"{failed} fails, which passed"
        if broken is not None:
            session.state, session.reason = State.UNREPAIRED, f"with the patch {broken}"
            return session.reason
        left = compared(on_cpu, after).bugs
        session.state = State.PARTLY if left else State.REPAIRED
        session.reason = f"{count(len(left), 'device error')} left" if left else "no test reveals a device error"
        passing = _passing(on_cpu)
        return f"{count(passing, 'test')} {'passes' if passing == 1 else 'pass'}"

    def _lost(self, before: Outcome, after: Outcome, backend: Backend) -> str | None:
        """A test that passes before and fails after, and passes where the original is run again."""
        failing = list(lost(before, after))
        again = self._original("before, again", backend).suite if failing else None
        steady = (test for test in failing if again is None or (seen := again.find(test)) is None or seen.passed)
        return next(steady, None)


def _options(program: Program) -> tuple[str, ...]:
    """The options among the arguments of pytest, with their values; without paths and what else chooses tests."""
    kept, words = list[str](), iter(program.arguments)
    for word in words:
        if word in _CHOOSING:
            next(words, None)
        elif word in _WITH_VALUE:
            kept += [word, next(words, "")]
        elif word.startswith("-") and not word.startswith(_CHOOSING):
            kept.append(word)
    return tuple(kept)


_CHOOSING = ("-k", "-m")
_WITH_VALUE = frozenset(
    (
        *("-p", "-W", "-o", "-c", "-n", "-r", "--rootdir", "--confcutdir", "--ignore", "--ignore-glob", "--deselect"),
        *("--import-mode", "--override-ini", "--pythonwarnings", "--basetemp", "--tb", "--maxfail", "--max-warnings"),
        *("--durations", "--durations-min", "--capture", "--show-capture", "--color", "--code-highlight"),
        *("--verbosity", "--assert", "--junitxml", "--junit-xml", "--junitprefix", "--junit-prefix", "--report-chars"),
        *("--config-file",),
        *("--log-level", "--log-format", "--log-cli-level", "--log-cli-format", "--log-file", "--log-file-level"),
        *("--numprocesses", "--maxprocesses", "--dist", "--tx", "--timeout", "--timeout-method", "--reruns"),
        *("--cov", "--cov-report", "--cov-config"),
    )
)
"""Options of pytest, and of its best known plug-ins, whose value may be a word of its own."""


def _passing(outcome: Outcome) -> int:
    return sum(test.passed for test in (outcome.suite or SuiteRun()).tests.values())
