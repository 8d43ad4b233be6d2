"""Every row of the table of verdicts, and the one thing that may never happen."""

import itertools
import math
from dataclasses import replace

import pytest
from devfix.replay.backends import Accelerator, Backend, PlainCpu
from devfix.replay.outcomes import Deprecation, Ending, Outcome, Output, ScriptError, not_started
from devfix.replay.patches import Patch
from devfix.replay.verdicts import Kind, Runs, Verdict
from devfix.replay.verdicts import decide as decide_runs

CUDA, CPU = Accelerator("cuda", "cuda"), PlainCpu()
BEFORE = b"import torch\nx = load()\nloss = f(x)\nloss.backward()\nsave()\n"
AFTER = b"import torch\nx = load()\nx = x.to(device)\nloss = f(x)\nloss.backward()\nsave()\n"
PATCH = Patch(BEFORE, AFTER)
RAN = frozenset({("train.py", 3)})


def decide(
    before: Outcome,
    after: Outcome,
    backend: Backend,
    patch: Patch,
    path: str,
    again: Outcome | None = None,
    plain: Runs | None = None,
) -> Verdict:
    return decide_runs(Runs(before, after, again, plain), backend, {path: patch}, path)


def passed(
    losses: tuple[float, ...] = (0.5, 0.25), text: str = "", reached: frozenset[tuple[str, int]] = RAN
) -> Outcome:
    return Outcome(Ending.PASSED, 1.0, 0, stdout=Output(text, text, len(text)), losses=losses, reached=reached)


def failed(
    kind: str, message: str, line: int, device: bool = False, losses: tuple[float, ...] = (), file: str = "train.py"
) -> Outcome:
    return Outcome(
        Ending.FAILED, 1.0, 1, error=ScriptError(kind, message, file, line, device), losses=losses, reached=RAN
    )


def timed_out(losses: tuple[float, ...] = ()) -> Outcome:
    return Outcome(Ending.TIMED_OUT, 300.0, losses=losses, reached=RAN)


def killed(signal: str) -> Outcome:
    return Outcome(Ending.KILLED, 1.0, signal=signal, reached=RAN)


def usage() -> Outcome:
    text = "usage: train.py [-h] --data DATA\ntrain.py: error: the following arguments are required: --data\n"
    return Outcome(Ending.FAILED, 1.0, 2, stderr=Output(text, text, len(text)))


DEVICE = failed("RuntimeError", "Expected all tensors to be on the same device", 3, device=True)
STILL = failed("RuntimeError", "Expected all tensors to be on the same device", 4, device=True)
LATER = failed("RuntimeError", "Expected all tensors to be on the same device", 6, device=True)
AUTOCAST = failed(
    "TypeError", "autocast.__init__() missing 1 required positional argument: 'device_type'", 3, device=True
)
MODULE = failed("ModuleNotFoundError", "No module named 'timm'", 1)
LAZY = failed("ModuleNotFoundError", "Could not import module 'Bert'. Are this object's parts here? Ask 'pip'.", 1)
TORCH = failed("ModuleNotFoundError", "No module named 'torch'", 1)
FILE = failed("FileNotFoundError", "[Errno 2] No such file or directory: 'data/train.csv'", 2)
NETWORK = failed("ConnectionError", "Max retries exceeded", 2)
OWN = failed("ValueError", "shapes differ", 2)
NAME = failed("NameError", "name 'device' is not defined", 3)
UNREACHED = passed(reached=frozenset())


@pytest.mark.parametrize(
    ("before", "after", "backend", "kind", "reason"),
    [
        # The original failed with a device error.
        (DEVICE, passed(), CUDA, Kind.CONFIRMED, "RuntimeError at train.py:3 is gone"),
        (AUTOCAST, passed(), CPU, Kind.CONFIRMED, "TypeError at train.py:3 is gone"),
        (DEVICE, timed_out((0.5,)), CUDA, Kind.CONFIRMED, "until it ran into the time limit"),
        (DEVICE, timed_out(), CUDA, Kind.INCONCLUSIVE, "time limit"),
        (DEVICE, UNREACHED, CUDA, Kind.NOT_REACHED, "none of the patched lines ran"),
        (DEVICE, STILL, CUDA, Kind.REFUTED, "still fails there"),
        (DEVICE, NAME, CUDA, Kind.REFUTED, "fails where the original did not: NameError"),
        (DEVICE, LATER, CUDA, Kind.INCONCLUSIVE, "then it failed with RuntimeError at train.py:6"),
        (DEVICE, FILE, CUDA, Kind.INCONCLUSIVE, "then it failed with FileNotFoundError"),
        (DEVICE, killed("SIGKILL"), CUDA, Kind.INCONCLUSIVE, "SIGKILL"),
        # Both passed.
        (passed(), passed(), CUDA, Kind.HARMLESS, "losses agree (2)"),
        (passed((0.5,)), passed((0.5002,)), CUDA, Kind.HARMLESS, "losses agree (1)"),
        (passed((math.nan,)), passed((math.nan,)), CUDA, Kind.HARMLESS, "losses agree (1)"),
        (passed((), "acc 0.5"), passed((), "acc 0.5"), CUDA, Kind.HARMLESS, "output agrees"),
        (passed(()), passed(()), CUDA, Kind.HARMLESS, "no loss or output to compare"),
        (passed(), passed(), CPU, Kind.INCONCLUSIVE, "cannot show on the plain CPU; losses agree (2)"),
        (passed(), UNREACHED, CUDA, Kind.NOT_REACHED, "none of the patched lines ran"),
        (passed(), UNREACHED, CPU, Kind.NOT_REACHED, "none of the patched lines ran"),
        (passed((0.5,)), passed((0.6,)), CUDA, Kind.REFUTED, "loss 1 is 0.5 before and 0.6 after"),
        (passed((0.5,)), passed((0.6,)), CPU, Kind.REFUTED, "loss 1 is 0.5 before and 0.6 after"),
        (passed((0.5,)), passed((math.nan,)), CPU, Kind.REFUTED, "loss 1 is 0.5 before and nan after"),
        (passed((0.5,)), passed((0.5, 0.4)), CPU, Kind.REFUTED, "1 losses before and 2 after"),
        (
            passed(text="acc 0.9"),
            passed(text="acc 0.1"),
            CPU,
            Kind.REFUTED,
            "prints 'acc 0.9' before and 'acc 0.1' after",
        ),
        # Only the patched one failed.
        (passed(), NAME, CPU, Kind.REFUTED, "fails where the original did not: NameError"),
        (passed(), MODULE, CUDA, Kind.REFUTED, "fails where the original did not: ModuleNotFoundError"),
        (passed(), STILL, CUDA, Kind.REFUTED, "fails where the original did not: RuntimeError"),
        (passed(), killed("SIGSEGV"), CUDA, Kind.REFUTED, "fails where the original did not: signal SIGSEGV"),
        (passed(), killed("SIGKILL"), CUDA, Kind.INCONCLUSIVE, "killed from outside"),
        (passed(), timed_out(), CUDA, Kind.INCONCLUSIVE, "time limit of 300 s, which the original did not"),
        # Something else kept the original from its end.
        (MODULE, MODULE, CUDA, Kind.INCONCLUSIVE, "needs the module timm"),
        (LAZY, LAZY, CUDA, Kind.INCONCLUSIVE, "needs the module Bert, which is not installed"),
        (TORCH, TORCH, CPU, Kind.INCONCLUSIVE, "pip install 'devfix[replay]'"),
        (FILE, FILE, CUDA, Kind.INCONCLUSIVE, "needs a file that is missing: data/train.csv"),
        (NETWORK, NETWORK, CUDA, Kind.INCONCLUSIVE, "needs the network"),
        (NETWORK, FILE, CUDA, Kind.INCONCLUSIVE, "needs a file"),
        (usage(), usage(), CUDA, Kind.INCONCLUSIVE, "the following arguments are required: --data"),
        (OWN, OWN, CUDA, Kind.INCONCLUSIVE, "ValueError at train.py:2: shapes differ, which is no device error"),
        (OWN, passed(), CUDA, Kind.INCONCLUSIVE, "the patched script passed"),
        (OWN, NAME, CUDA, Kind.REFUTED, "fails where the original did not: NameError"),
        (MODULE, NAME, CUDA, Kind.REFUTED, "fails where the original did not: NameError"),
        (timed_out(), passed(), CUDA, Kind.INCONCLUSIVE, "the original ran into the time limit"),
        (timed_out((1.0, 2.0)), timed_out((1.0,)), CUDA, Kind.INCONCLUSIVE, "time limit of 300 s"),
        (timed_out((1.0, 2.0)), timed_out((3.0,)), CUDA, Kind.REFUTED, "loss 1 is 1 before and 3 after"),
        (timed_out((1.0,)), NAME, CUDA, Kind.REFUTED, "NameError"),
        (killed("SIGSEGV"), killed("SIGSEGV"), CUDA, Kind.INCONCLUSIVE, "signal SIGSEGV"),
        (not_started("python is gone"), not_started("python is gone"), CPU, Kind.INCONCLUSIVE, "python is gone"),
    ],
)
def test_verdicts(before: Outcome, after: Outcome, backend: Backend, kind: Kind, reason: str) -> None:
    verdict = decide(before, after, backend, PATCH, "train.py")
    assert verdict.kind is kind
    assert reason in verdict.reason


OUTCOMES = (
    passed(), passed((0.1,)), UNREACHED, DEVICE, STILL, LATER, AUTOCAST, MODULE, FILE, OWN, NAME, usage(),
    timed_out(), timed_out((0.5, 0.25, 0.1)), killed("SIGSEGV"), killed("SIGKILL"), not_started("no"),
)  # fmt: skip


@pytest.mark.parametrize("backend", [CUDA, CPU], ids=["cuda", "cpu"])
def test_a_confirmation_needs_an_original_that_failed_with_a_device_error(backend: Backend) -> None:
    for before, after, again in itertools.product(OUTCOMES, OUTCOMES, (None, *OUTCOMES)):
        verdict = decide(before, after, backend, PATCH, "train.py", again)
        if verdict.kind is Kind.CONFIRMED:
            assert before.device_error is not None
            assert before.ending is Ending.FAILED
            assert after.reached
        if verdict.satisfied and not backend.can_show_device_bugs:
            assert verdict.kind is Kind.CONFIRMED


def test_an_original_that_does_not_agree_with_itself_refutes_nothing() -> None:
    verdict = decide(passed((0.5,)), passed((0.6,)), CUDA, PATCH, "train.py", again=passed((0.7,)))
    assert verdict.kind is Kind.INCONCLUSIVE
    verdict = decide(passed((0.5,)), passed((0.6,)), CUDA, PATCH, "train.py", again=passed((0.5,)))
    assert verdict.kind is Kind.REFUTED
    verdict = decide(passed(), killed("SIGSEGV"), CUDA, PATCH, "train.py", again=killed("SIGSEGV"))
    assert verdict.kind is Kind.INCONCLUSIVE


def test_lines_that_did_not_run_are_named_and_not_vouched_for() -> None:
    patch = Patch(b"f(1)\nif y:\n    f(2)\n", b"f(x)\nif y:\n    f(x)\n")
    after = passed(reached=frozenset({("train.py", 1)}))
    verdict = decide(DEVICE, after, CUDA, patch, "train.py")
    assert verdict.kind is Kind.CONFIRMED
    assert verdict.missed == (3,)
    assert verdict.reason.endswith("; line 3 never ran")
    assert not verdict.satisfied


@pytest.mark.parametrize("kind", list(Kind))
def test_only_what_was_shown_satisfies(kind: Kind) -> None:
    assert Verdict(kind, "").satisfied is (kind in (Kind.CONFIRMED, Kind.HARMLESS))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("epoch 1 took 3.2 s", "epoch 1 took 4.9 s"),
        ("step 3 [12.5it/s]", "step 3 [11.0it/s]"),
        ("2024-01-02 10:11:12,345 loss 0.5", "2024-01-02 10:12:13,999 loss 0.5"),
        ("<object at 0x7f00aa>", "<object at 0x7f11bb>"),
        ("memory 512 MiB", "memory 600 MiB"),
        ("loss 0.69314", "loss 0.69315"),
    ],
)
def test_times_sizes_and_rounding_are_no_difference(one: str, other: str) -> None:
    assert decide(passed(text=one), passed(text=other), CUDA, PATCH, "train.py").kind is Kind.HARMLESS


def test_output_that_was_cut_is_compared_as_far_as_it_goes() -> None:
    first = Outcome(Ending.PASSED, stdout=Output("a\nb\nc", "", 100), reached=RAN)
    second = Outcome(Ending.PASSED, stdout=Output("a\nb\ncd", "", 100), reached=RAN)
    assert decide(first, second, CUDA, PATCH, "train.py").kind is Kind.HARMLESS


def cut(losses: tuple[float, ...] = ()) -> Outcome:
    return Outcome(Ending.OVERRAN, 3.0, reason="printed more than 64 MiB", losses=losses, reached=RAN)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\r 1/20 [0.03s]\r 4/20 [0.09s]\r 20/20 [0.3s]\nend\n", "\r 2/20 [0.05s]\r 20/20 [0.4s]\nend\n"),
        ("1/20\r20/20\r\nend\r\n", "20/20\nend"),
        ("end\n 1/20\r", "end\n 1/20"),
    ],
)
def test_how_often_a_progress_bar_was_drawn_is_no_difference(one: str, other: str) -> None:
    assert decide(passed((), one), passed((), other), CUDA, PATCH, "train.py").kind is Kind.HARMLESS


@pytest.mark.parametrize(("one", "other"), [("1/20\r0.5\n", "1/20\r0.7\n"), ("a\n\nb\n", "a\nb\n"), ("a\n", "a\n\r7")])
def test_what_stands_at_last_is_compared(one: str, other: str) -> None:
    assert decide(passed((), one), passed((), other), CUDA, PATCH, "train.py").kind is Kind.REFUTED


def test_an_output_that_was_cut_earlier_for_longer_times_is_no_difference() -> None:
    def printed(seconds: str, lines: int = 3) -> Outcome:
        text = "".join(f"epoch {epoch} took {seconds} s\n" for epoch in range(lines))
        return Outcome(Ending.PASSED, stdout=Output(text[:40], "", len(text)), reached=RAN)

    longer = printed("10.125")
    for shorter in (printed("9.9"), printed("9.9", lines=2)):
        assert decide(shorter, longer, CUDA, PATCH, "train.py").kind is Kind.HARMLESS
        assert decide(longer, shorter, CUDA, PATCH, "train.py").kind is Kind.HARMLESS


def test_a_run_that_went_over_a_limit_shows_no_more_than_one_that_timed_out() -> None:
    assert decide(cut(), passed(), CUDA, PATCH, "train.py").reason == "the original printed more than 64 MiB"
    told = decide(passed(), cut(), CUDA, PATCH, "train.py")
    assert told.kind is Kind.INCONCLUSIVE
    assert told.reason == "the patched script printed more than 64 MiB, which the original did not"
    assert decide(DEVICE, cut((0.5,)), CUDA, PATCH, "train.py").kind is Kind.CONFIRMED


# What is not simulated


def unsimulated(outcome: Outcome) -> Outcome:
    return replace(outcome, not_simulated=("graph capture",))


@pytest.mark.parametrize("marked", ["before", "after", "both"])
def test_a_run_that_met_what_is_not_simulated_shows_nothing(marked: str) -> None:
    for before, after in itertools.product(OUTCOMES, OUTCOMES):
        if Ending.NOT_STARTED in (before.ending, after.ending):
            continue
        first = before if marked == "after" else unsimulated(before)
        second = after if marked == "before" else unsimulated(after)
        verdict = decide(first, second, CUDA, PATCH, "train.py")
        assert (verdict.kind, verdict.reason) == (Kind.INCONCLUSIVE, "not simulated: graph capture")


# What the plain CPU says of a patch whose original fails on an accelerator


@pytest.mark.parametrize(
    ("plain", "reason"),
    [
        (
            Runs(passed((0.5, 0.4)), passed((0.5, 0.3))),
            "computes something else on the plain CPU: loss 2 is 0.4 before",
        ),
        (Runs(passed((0.5,), "a"), passed((0.5,), "b")), "computes something else on the plain CPU: prints 'a' before"),
        (Runs(timed_out((0.5, 0.4)), timed_out((0.5, 0.3))), "computes something else on the plain CPU: loss 2"),
        (Runs(passed(), DEVICE), "fails on the plain CPU where the original did not: RuntimeError at train.py:3"),
    ],
)
def test_a_patch_that_changes_the_computation_on_the_plain_cpu_is_refuted(plain: Runs, reason: str) -> None:
    verdict = decide(DEVICE, passed(), CUDA, PATCH, "train.py", plain=plain)
    assert verdict.kind is Kind.REFUTED
    assert verdict.reason.startswith(reason)


@pytest.mark.parametrize(
    "plain",
    [
        Runs(passed((0.5,)), passed((0.5,))),
        Runs(passed((0.5,)), timed_out((0.5, 0.3))),
        Runs(timed_out((0.5, 0.4)), passed((0.5, 0.4, 0.3))),
        # It cannot be compared: the original needs an accelerator, is not the same twice, or it was cut short.
        Runs(DEVICE, passed((0.5,))),
        Runs(passed((0.5,)), passed((0.4,)), again=passed((0.3,))),
        Runs(timed_out(), passed((0.5,))),
        Runs(passed(), MODULE),
        Runs(timed_out((0.5,)), OWN),
    ],
)
def test_what_the_plain_cpu_cannot_tell_refutes_nothing(plain: Runs) -> None:
    assert decide(DEVICE, passed(), CUDA, PATCH, "train.py", plain=plain).kind is Kind.CONFIRMED


# Bugs that only warn

MESSAGE = "`torch.cuda.amp.autocast(args...)` is deprecated."
WARNS = """import torch
with torch.cuda.amp.autocast():
    step()
report()
"""
QUIET = WARNS.replace("torch.cuda.amp.autocast()", "torch.amp.autocast('cuda')").replace(
    "import torch", "import torch\n"
)
WARNING_PATCH = Patch(WARNS.encode(), QUIET.encode())


def warned(line: int, message: str = MESSAGE, file: str = "train.py") -> Outcome:
    reached = frozenset({("train.py", 3)})
    return replace(passed(reached=reached), warnings=(Deprecation("FutureWarning", message, file, line),))


@pytest.mark.parametrize("backend", [CUDA, CPU], ids=["cuda", "cpu"])
def test_a_warning_that_is_gone_is_confirmed_wherever_it_was_seen(backend: Backend) -> None:
    verdict = decide(warned(2), passed(), backend, WARNING_PATCH, "train.py")
    assert verdict.kind is Kind.CONFIRMED
    assert verdict.reason == f"FutureWarning at train.py:2 is gone: {MESSAGE}"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (passed(), passed()),
        (passed(), warned(3)),
        (warned(2), warned(3)),  # it still warns at the patched line
        (warned(4, "another"), warned(5, "another")),  # a line that only moved
        (warned(2, file="lib.py"), passed()),  # not in the patched file
    ],
)
def test_a_warning_that_was_not_there_or_stays_confirms_nothing(before: Outcome, after: Outcome) -> None:
    for outcome in (before, after):
        assert outcome.passed
    assert decide(before, after, CUDA, WARNING_PATCH, "train.py").kind is not Kind.CONFIRMED


def test_a_warning_that_is_gone_does_not_excuse_another_result() -> None:
    after = replace(passed((0.9,)), reached=frozenset({("train.py", 3)}))
    assert decide(warned(2), after, CUDA, WARNING_PATCH, "train.py").kind is Kind.REFUTED


# What a fix changes on purpose

EFFECT = ("more layers are trained",)


def test_training_that_goes_on_otherwise_on_purpose_is_not_refuted() -> None:
    plain = Runs(passed((0.5, 0.4)), passed((0.5, 0.3)), effects=EFFECT)
    confirmed = decide_runs(
        Runs(DEVICE, passed((0.5,)), plain=plain, effects=EFFECT), CUDA, {"train.py": PATCH}, "train.py"
    )
    assert confirmed.kind is Kind.CONFIRMED
    both = decide_runs(
        Runs(passed((0.5, 0.4)), passed((0.5, 0.3)), effects=EFFECT), CUDA, {"train.py": PATCH}, "train.py"
    )
    assert both == Verdict(Kind.INCONCLUSIVE, "loss 2 is 0.4 before and 0.3 after, since more layers are trained")


def test_an_effect_on_training_excuses_no_other_first_loss() -> None:
    runs = Runs(passed((0.5, 0.4)), passed((0.6, 0.4)), effects=EFFECT)
    assert decide_runs(runs, CUDA, {"train.py": PATCH}, "train.py").kind is Kind.REFUTED
    silent = Runs(passed((), "a"), passed((), "b"), effects=EFFECT)
    assert decide_runs(silent, CUDA, {"train.py": PATCH}, "train.py").kind is Kind.REFUTED
