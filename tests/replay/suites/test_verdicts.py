"""What the runs of a suite before and after a patch prove: nothing, unless a test that runs the patch says so."""

from dataclasses import replace

import pytest
from devfix.replay.backends import Simulated
from devfix.replay.outcomes import FAILED, PASSED, SKIPPED, Ending, Outcome, Output, ScriptError, SuiteRun, SuiteTest
from devfix.replay.patches import Patch
from devfix.replay.suites.comparing import compared
from devfix.replay.suites.verdicts import lost, trouble
from devfix.replay.verdicts import Kind, Runs, Verdict, decide

BEFORE = b"import torch\n\ndef f(x):\n    y = torch.ones(3)\n    return x + y\n"
AFTER = b"import torch\n\ndef f(x):\n    y = torch.ones(3, device=x.device)\n    return x + y\n"
PATCH = Patch(BEFORE, AFTER)
RAN = frozenset({("lib.py", 4)})
DEVICE = ScriptError("RuntimeError", "Expected all tensors to be on the same device", "lib.py", 5, True)
ELSEWHERE = replace(DEVICE, line=2)
OTHER = ScriptError("AssertionError", "1 is not 2", "tests/test_lib.py", 7)


def passed(name: str, lines: frozenset[tuple[str, int]] = RAN) -> SuiteTest:
    return SuiteTest(name, PASSED, lines=lines)


def failed(name: str, error: ScriptError, lines: frozenset[tuple[str, int]] = RAN) -> SuiteTest:
    return SuiteTest(name, FAILED, error=error, cause="library" if error.file == "lib.py" else "tests", lines=lines)


def ran(*tests: SuiteTest, ending: Ending = Ending.PASSED) -> Outcome:
    return Outcome(ending, 1.0, 0, suite=SuiteRun({test.id: test for test in tests}, len(tests)))


def judged(
    simulated: tuple[Outcome, Outcome],
    plain: tuple[Outcome, Outcome] | None = None,
    again: Outcome | None = None,
    patch: Patch = PATCH,
) -> Verdict:
    on_cpu = plain or (ran(passed("a"), passed("b")),) * 2
    runs = Runs(*simulated, again=again, plain=Runs(*on_cpu))
    return decide(runs, Simulated(checks=None), {"lib.py": patch}, "lib.py")  # type: ignore[arg-type]


FAILS, PASSES = ran(failed("a", DEVICE), passed("b")), ran(passed("a"), passed("b"))


def test_nothing_is_confirmed_that_no_test_saw_fail() -> None:
    assert judged((PASSES, PASSES)).kind is Kind.HARMLESS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ran(failed("a", OTHER)), ran(passed("a"))),
        (ran(failed("a", replace(DEVICE, is_device_error=False))), ran(passed("a"))),
        (ran(replace(failed("a", DEVICE), cause="tests")), ran(passed("a"))),
        (ran(replace(failed("a", DEVICE), gap="Triton")), ran(passed("a"))),
    ],
)
def test_what_was_no_device_error_of_the_library_confirms_nothing(before: Outcome, after: Outcome) -> None:
    assert judged((before, after)).kind is Kind.INCONCLUSIVE


def test_a_test_that_fails_on_the_cpu_too_confirms_nothing() -> None:
    plain = ran(failed("a", OTHER)), ran(failed("a", OTHER))
    assert judged((ran(failed("a", DEVICE)), ran(passed("a"))), plain).kind is not Kind.CONFIRMED


def test_a_test_that_never_ran_the_patch_confirms_nothing() -> None:
    after = ran(passed("a", frozenset()), passed("b"))
    assert judged((FAILS, after)).kind is Kind.HARMLESS
    nowhere = ran(passed("a", frozenset()), passed("b", frozenset()))
    assert judged((FAILS, nowhere)).kind is Kind.NOT_REACHED


def test_a_test_that_passed_and_fails_refutes() -> None:
    broken = ran(passed("a"), failed("b", OTHER))
    verdict = judged((FAILS, broken))
    assert verdict.kind is Kind.REFUTED
    assert verdict.reason.startswith("b fails where the original did not: AssertionError at tests/test_lib.py:7")


def test_on_the_plain_cpu_too() -> None:
    verdict = judged((FAILS, PASSES), (PASSES, ran(passed("a"), failed("b", OTHER))))
    assert verdict.kind is Kind.REFUTED
    assert "on the plain CPU" in verdict.reason


def test_an_error_that_stays_in_the_patched_lines_refutes() -> None:
    still = ran(failed("a", replace(DEVICE, line=4)), passed("b", frozenset()))
    assert judged((FAILS, still)).kind is Kind.REFUTED


def test_one_that_stays_elsewhere_says_nothing() -> None:
    still = ran(failed("a", ELSEWHERE), passed("b", frozenset()))
    assert judged((ran(failed("a", ELSEWHERE), passed("b")), still)).kind is Kind.INCONCLUSIVE


@pytest.mark.parametrize("collected", [None, 0])
def test_a_suite_that_did_not_run_says_nothing(collected: int | None) -> None:
    text = "ERROR: unrecognized arguments: --cov\n"
    none = Outcome(Ending.FAILED, 1.0, 4, stderr=Output(text, text, len(text)), suite=SuiteRun({}, collected))
    assert judged((none, none), (none, none)).kind is Kind.INCONCLUSIVE


# What must be seen


def test_a_test_that_failed_with_a_device_error_and_passes_confirms() -> None:
    verdict = judged((FAILS, PASSES))
    assert verdict.kind is Kind.CONFIRMED
    assert verdict.reason == f"a passes now: RuntimeError at lib.py:5 is gone: {DEVICE.message}"


def test_so_does_one_that_the_cpu_skips() -> None:
    plain = (ran(replace(passed("a"), outcome=SKIPPED), passed("b")),) * 2
    assert judged((FAILS, PASSES), plain).kind is Kind.CONFIRMED


def test_lines_that_no_test_ran_are_told() -> None:
    patch = Patch(BEFORE, AFTER + b"\ndef g(x):\n    return x\n")
    verdict = judged((FAILS, PASSES), patch=patch)
    assert (verdict.kind, verdict.missed, verdict.satisfied) == (Kind.CONFIRMED, (8,), False)


def test_a_test_that_the_original_passes_only_at_times_refutes_nothing() -> None:
    broken, again = ran(passed("a"), failed("b", OTHER)), ran(failed("a", DEVICE), failed("b", OTHER))
    assert judged((FAILS, broken), again=again).kind is Kind.CONFIRMED


def test_a_run_that_was_cut_loses_no_test() -> None:
    cut = replace(ran(passed("a"), ending=Ending.TIMED_OUT), seconds=300.0)
    assert judged((FAILS, cut)).kind is Kind.CONFIRMED


def test_a_suite_that_dies_refutes() -> None:
    dead = replace(ran(passed("a"), ending=Ending.KILLED), signal="SIGSEGV")
    assert judged((FAILS, dead)).kind is Kind.REFUTED


def test_one_that_dies_at_times_or_is_killed_from_outside_does_not() -> None:
    dead = replace(ran(passed("a"), ending=Ending.KILLED), signal="SIGSEGV")
    assert judged((FAILS, dead), again=replace(dead, suite=FAILS.suite)).kind is Kind.CONFIRMED
    assert judged((FAILS, dead), again=FAILS).kind is Kind.REFUTED
    killed = replace(dead, signal="SIGKILL")
    none = replace(killed, suite=SuiteRun())
    for verdict in (judged((FAILS, killed)), judged((FAILS, none)), judged((FAILS, PASSES), (PASSES, killed))):
        assert verdict.kind is Kind.INCONCLUSIVE
        assert "killed from outside" in verdict.reason
    lost_one = replace(ran(passed("a"), failed("b", OTHER)), ending=Ending.KILLED, signal="SIGKILL")
    assert judged((FAILS, lost_one)).kind is Kind.REFUTED


def test_a_patch_after_which_pytest_cannot_begin_refutes() -> None:
    dead = Outcome(Ending.FAILED, 1.0, 4, suite=SuiteRun())
    assert judged((FAILS, dead)).kind is Kind.REFUTED
    assert judged((FAILS, PASSES), (PASSES, dead)).kind is Kind.REFUTED
    error = ScriptError("NameError", "name 'device' is not defined", "lib.py", 4)
    unread = SuiteTest("tests/test_lib.py", FAILED, error=error, cause="library")
    none = Outcome(Ending.FAILED, 1.0, 2, suite=SuiteRun({}, 0, {unread.id: unread}))
    assert judged((FAILS, none)).kind is Kind.REFUTED


def test_a_run_that_was_cut_before_its_tests_says_nothing() -> None:
    cut = Outcome(Ending.TIMED_OUT, 300.0, None, suite=SuiteRun())
    assert judged((FAILS, cut)).kind is Kind.INCONCLUSIVE


def test_what_the_time_limit_kept_from_running_is_not_lost() -> None:
    assert list(lost(PASSES, replace(ran(passed("a")), ending=Ending.TIMED_OUT))) == []
    assert list(lost(PASSES, ran(passed("a"), replace(failed("b", OTHER), gap="Triton")))) == []
    assert list(lost(PASSES, ran(passed("a"), failed("b", OTHER)))) == ["b"]


def test_an_internal_error_of_pytest_is_none_of_tests() -> None:
    text = "INTERNALERROR> Traceback (most recent call last):\nINTERNALERROR> ValueError: no\n\n= 1 deselected =\n"
    none = Outcome(Ending.FAILED, 1.0, 3, stdout=Output(text, text, len(text)), suite=SuiteRun({}, 3))
    assert trouble(none) == "pytest could not run the tests: ValueError: no"
    some = replace(none, suite=replace(PASSES.suite, collected=3))  # type: ignore[arg-type]
    assert trouble(some) is None
    assert compared(some, PASSES).ends == "ended with an internal error of pytest: ValueError: no"


def test_why_no_test_ran_is_told() -> None:
    missing = ScriptError("ModuleNotFoundError", "No module named 'a'", "tests/test_lib.py", 1)
    unread = SuiteTest("tests/test_lib.py", FAILED, error=missing, cause="tests")
    none = Outcome(Ending.FAILED, 1.0, 2, suite=SuiteRun({}, 0, {unread.id: unread}))
    assert trouble(none) == (
        "pytest found no tests that it could import: ModuleNotFoundError at tests/test_lib.py:1: No module named 'a'"
    )
    assert trouble(PASSES) is None
