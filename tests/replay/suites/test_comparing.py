"""A test counts where it passes on the plain CPU, or cannot be seen there."""

from dataclasses import replace

import pytest
from devfix.replay.outcomes import FAILED, PASSED, SKIPPED, ScriptError, SuiteRun, SuiteTest
from devfix.replay.suites.comparing import Sort, compare

DEVICE = ScriptError("RuntimeError", "Expected all tensors to be on the same device", "lib.py", 5, True)
NO_CUDA = ScriptError("AssertionError", "Torch not compiled with CUDA enabled", "tests/test_lib.py", 3, True)
OTHER = ScriptError("AssertionError", "1 is not 2", "tests/test_lib.py", 7)

PASSES, SKIPS = SuiteTest("a", PASSED), SuiteTest("a", SKIPPED)
REVEALS = SuiteTest("a", FAILED, error=DEVICE, cause="library")
OF_TESTS = SuiteTest("a", FAILED, error=NO_CUDA, cause="tests")
FAILS = SuiteTest("a", FAILED, error=OTHER, cause="tests")
GAP = SuiteTest("a", FAILED, error=DEVICE, cause="library", gap="Triton")


def run(*tests: SuiteTest | None) -> SuiteRun:
    return SuiteRun({test.id: test for test in tests if test is not None}, len(tests))


@pytest.mark.parametrize(
    ("plain", "simulated", "sort"),
    [
        (PASSES, PASSES, Sort.ALIKE),
        (FAILS, REVEALS, Sort.FAILS_ANYWAY),
        (FAILS, PASSES, Sort.FAILS_ANYWAY),
        (PASSES, FAILS, Sort.OTHERWISE),
        (PASSES, OF_TESTS, Sort.OF_TESTS),
        (PASSES, GAP, Sort.NOT_SIMULATED),
        (SKIPS, SKIPS, Sort.SKIPPED),
        (SKIPS, PASSES, Sort.ALIKE),
        (PASSES, None, Sort.NOT_RUN),
        (PASSES, REVEALS, Sort.REVEALS),
        (SKIPS, REVEALS, Sort.REVEALS),
        (OF_TESTS, REVEALS, Sort.REVEALS),
        (None, REVEALS, Sort.REVEALS),
    ],
)
def test_the_two_runs_of_a_test(plain: SuiteTest | None, simulated: SuiteTest | None, sort: Sort) -> None:
    found = compare(run(plain), run(simulated))
    assert found.sorts == {"a": sort}
    assert bool(found.bugs) is (sort is Sort.REVEALS)


def test_errors_at_one_line_are_one_bug() -> None:
    tests = [SuiteTest(name, FAILED, error=DEVICE, cause="library") for name in ("a", "b")]
    plain = run(SuiteTest("a", PASSED), SuiteTest("b", PASSED))
    (bug,) = compare(plain, run(*tests)).bugs
    assert (bug.error, bug.tests) == (DEVICE, ("a", "b"))


def test_a_file_that_cannot_be_imported_stands_for_its_tests() -> None:
    plain = run(SuiteTest("tests/test_lib.py::a", PASSED), SuiteTest("tests/test_lib.py::b", PASSED))
    broken = SuiteTest("tests/test_lib.py", FAILED, error=DEVICE, cause="library")
    found = compare(plain, SuiteRun({}, 0, {broken.id: broken}))
    assert set(found.sorts.values()) == {Sort.REVEALS}
    assert found.bugs[0].tests == ("tests/test_lib.py::a", "tests/test_lib.py::b")


def test_a_file_that_the_cpu_cannot_import_for_want_of_a_device_reveals_too() -> None:
    broken = SuiteTest("tests/test_lib.py", FAILED, error=DEVICE, cause="library")
    wants = SuiteTest("tests/test_lib.py", FAILED, error=NO_CUDA, cause="tests")
    found = compare(SuiteRun({}, 0, {wants.id: wants}), SuiteRun({}, 0, {broken.id: broken}))
    assert [bug.tests for bug in found.bugs] == [("tests/test_lib.py",)]
    fails = SuiteTest("tests/test_lib.py", FAILED, error=OTHER, cause="tests")
    assert compare(SuiteRun({}, 0, {fails.id: fails}), SuiteRun({}, 0, {broken.id: broken})).bugs == ()


def test_a_file_that_only_the_simulation_can_import_is_not_told_as_one_that_cannot() -> None:
    wants = SuiteTest("tests/test_lib.py", FAILED, error=NO_CUDA, cause="tests")
    fails, reveals = replace(wants, error=OTHER), replace(wants, error=DEVICE, cause="library")
    plain, found = SuiteRun({}, 0, {wants.id: wants}), run(SuiteTest("tests/test_lib.py::a", PASSED))
    assert compare(plain, found).uncollected == ()
    assert compare(plain, SuiteRun({}, 0, {wants.id: reveals})).uncollected == ()
    assert compare(plain, SuiteRun({}, 0, {wants.id: fails})).uncollected == (fails,)
    broken = SuiteRun({}, 0, {fails.id: fails})
    assert compare(broken, found).uncollected == compare(broken, broken).uncollected == (fails,)
