"""Whether a candidate for a repair is worth keeping, by the runs before and after it."""

import pytest
from devfix.repairing.diagnosing import bare_diagnosis
from devfix.repairing.trials import Progress, Trial
from devfix.replay.outcomes import Ending, Outcome, ScriptError
from devfix.replay.patches import Patch
from devfix.replay.postmortem import BatchValue, Member, OtherValue, PostMortem, TensorFacts, Value

BEFORE = "a = 1\nx = 2\ncrash(x)\n"


def progress(after: str, before_run: Outcome, after_run: Outcome) -> Progress:
    patches = {"t.py": Patch(BEFORE.encode(), after.encode())}
    return Trial(before_run, after_run, bare_diagnosis("mixed", "t.py", 3, {}), patches).judgement().progress


def failed(line: int, *ran: int, message: str = "mixed", value: Value | None = None) -> Outcome:
    """A run that a device error of that line ended."""
    error = ScriptError("RuntimeError", message, "t.py", line, is_device_error=True)
    found = None if value is None else PostMortem(message, "t.py", line, values=(value,))
    return Outcome(Ending.FAILED, error=error, reached=frozenset(("t.py", one) for one in ran), postmortem=found)


def batch(first: str, second: str) -> Value:
    items = (Member("first", TensorFacts(first)), Member("second", TensorFacts(second)))
    return BatchValue("batch", culprit=True, items=items)


def generator(place: str) -> Value:
    return OtherValue("made", culprit=True, type="generator", place=place)


def test_one_error_whose_line_the_patch_moved_is_no_progress() -> None:
    assert progress("a = 1\nb = 5\nx = 2\ncrash(x)\n", failed(3, 3), failed(4, 2, 4)) is Progress.NONE


def test_a_run_that_is_slower_is_no_progress() -> None:
    cut = Outcome(Ending.TIMED_OUT, reached=frozenset({("t.py", 2)}))
    assert progress("a = 1\nx = 3\ncrash(x, 1)\n", failed(3, 3), cut) is Progress.NONE


def test_a_run_that_got_over_the_line_is() -> None:
    cut = Outcome(Ending.TIMED_OUT, reached=frozenset({("t.py", 2), ("t.py", 3)}))
    assert progress("a = 1\nx = 3\ncrash(x, 1)\n", failed(3, 3), cut) is Progress.GONE


@pytest.mark.parametrize(
    ("before", "after"), [(batch("cpu", "cpu"), batch("cuda:0", "cpu")), (generator("cpu"), generator("cuda:1"))]
)
def test_what_is_blamed_now_is_elsewhere(before: Value, after: Value) -> None:
    runs = failed(3, 3, message="first", value=before), failed(3, 2, 3, message="second", value=after)
    assert progress("a = 1\nx = 3\ncrash(x)\n", *runs) is Progress.FURTHER


def test_what_is_blamed_now_is_where_it_was() -> None:
    runs = failed(3, 3, value=batch("cpu", "cpu")), failed(3, 2, 3, value=batch("cpu", "cpu"))
    assert progress("a = 1\nx = 3\ncrash(x)\n", *runs) is Progress.NONE
