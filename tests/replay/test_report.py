"""How replays are told."""

import json
from dataclasses import replace
from pathlib import Path

from devfix.replay.outcomes import Ending, Outcome, ScriptError
from devfix.replay.report import as_json, render
from devfix.replay.results import Driver, FixResult, ReplayResult
from devfix.replay.verdicts import Kind, Verdict, inconclusive
from devfix_codemods.findings import Finding
from devfix_codemods.source import Span

ERROR = ScriptError("RuntimeError", "No CUDA GPUs are available", "train.py", 7, True)
FAILED = Outcome(Ending.FAILED, 2.06, 1, error=ERROR, losses=(0.5, float("nan")))
PASSED = Outcome(Ending.PASSED, 1.24, 0, reached=frozenset({("train.py", 7)}))
FINDING = Finding("DVF101", "batch-not-moved", "", Span(12, 0, 12, 3))


def result(
    before: Outcome | None, after: Outcome | None, verdict: Verdict, kind: Kind = Kind.CONFIRMED
) -> ReplayResult:
    return ReplayResult(
        Path("train.py"), "python train.py", "cuda", verdict, before, after, (FixResult(FINDING, kind),)
    )


def test_a_replay_is_a_verdict_and_what_it_rests_on() -> None:
    told = render([result(FAILED, PASSED, Verdict(Kind.CONFIRMED, "it is gone"))])
    assert told == [
        "replay train.py on cuda: confirmed",
        "        it is gone",
        "        before: RuntimeError at train.py:7 after 2.1 s · after: passed in 1.2 s",
    ]


KEPT = Path("/copies/devfix_driver.py")


def test_what_a_driver_showed_is_told_as_such() -> None:
    driven = replace(
        result(FAILED, PASSED, Verdict(Kind.CONFIRMED, "it is gone")),
        harness=Driver("Net.forward", "import torch\n", absent=("timm",), kept=KEPT, left_out=("io.py:3",)),
    )
    told = render([driven])
    assert told[0] == "replay train.py on cuda: confirmed (harness)"
    assert told[-2:] == [
        "        a driver of devfix's own called `Net.forward`; inert stand-ins for timm; without io.py:3",
        "        it is /copies/devfix_driver.py",
    ]
    (entry,) = as_json([driven])["replays"]
    assert entry["verdict"] == "confirmed"
    assert entry["harness"] == {
        "function": "Net.forward",
        "step": None,
        "stand_ins": ["timm"],
        "left_out": ["io.py:3"],
        "driver": "import torch\n",
        "path": "/copies/devfix_driver.py",
        "lines": None,
    }


def test_lines_that_ran_alone_are_named() -> None:
    ran = replace(
        result(PASSED, PASSED, Verdict(Kind.HARMLESS, "same"), Kind.HARMLESS), harness=Driver("main", lines=(3, 5))
    )
    assert "        a driver of devfix's own ran lines 3 to 5 of `main` alone" in render([ran])
    assert as_json([ran])["replays"][0]["harness"]["lines"] == [3, 5]


def test_a_driver_that_came_to_nothing_has_no_part_in_the_verdict() -> None:
    stopped = replace(result(None, None, inconclusive("no"), Kind.INCONCLUSIVE), harness=Driver("f", step="import"))
    assert render([stopped]) == ["replay train.py: inconclusive: no"]
    assert as_json([stopped])["replays"][0]["harness"]["step"] == "import"


def test_files_that_the_same_runs_tell_of_share_them() -> None:
    told = render([result(FAILED, PASSED, Verdict(Kind.CONFIRMED, "it is gone"))] * 2)
    assert [line.split(":")[0].strip() for line in told] == [
        *("replay train.py on cuda", "it is gone", "before"),
        *("replay train.py on cuda", "it is gone"),
    ]


def test_every_ending_has_words() -> None:
    endings = [
        Outcome(Ending.TIMED_OUT, 60.0),
        Outcome(Ending.KILLED, 1.0, signal="SIGSEGV"),
        Outcome(Ending.FAILED, 1.0, 3),
        Outcome(Ending.FAILED, 1.0, 1, error=ScriptError("ImportError", "no", None, None)),
        Outcome(Ending.FAILED, 1.0, 1, error=ScriptError("SyntaxError", "no", "train.py", None)),
        Outcome(Ending.NOT_STARTED),
    ]
    told = [render([result(outcome, PASSED, inconclusive("x"), Kind.INCONCLUSIVE)])[2] for outcome in endings]
    words = [
        "timed out after 60.0 s",
        "killed by SIGSEGV after 1.0 s",
        "exit status 3 after 1.0 s",
        "ImportError outside the tree after 1.0 s",
        "SyntaxError at train.py after 1.0 s",
        "could not start",
    ]
    assert all(f"before: {word} ·" in line for word, line in zip(words, told, strict=True))


def test_a_replay_that_was_not_run_says_why() -> None:
    lines = render([result(None, None, inconclusive("a library file"), Kind.INCONCLUSIVE)])
    assert lines == ["replay train.py: inconclusive: a library file"]


def test_a_fix_that_differs_from_its_file_has_a_line() -> None:
    lines = render([result(FAILED, PASSED, Verdict(Kind.CONFIRMED, "it is gone"), Kind.NOT_REACHED)])
    assert lines[2] == "        DVF101 at line 12: not reached"


def test_json_is_plain() -> None:
    replays = json.loads(
        json.dumps(as_json([result(FAILED, PASSED, Verdict(Kind.CONFIRMED, "gone"))]), allow_nan=False)
    )
    (told,) = replays["replays"]
    assert set(told) == {"path", "command", "on", "verdict", "reason", "before", "after", "fixes", "notes", "harness"}
    assert told["verdict"] == "confirmed"
    assert told["before"]["losses"] == [0.5, None]
    assert told["before"]["error"]["device"] is True
    assert told["after"]["error"] is None
    assert told["after"]["reached"] == [{"path": "train.py", "line": 7}]
    assert told["fixes"] == [{"code": "DVF101", "line": 12, "verdict": "confirmed", "reason": None}]
