"""How far a batch is, on standard error."""

import io
import sys

import pytest
from devfix.batch import progress as module
from devfix.batch.progress import Told, batch_progress
from devfix.batch.records import Error, Outcome, State

from .runs import changed, failed, fix

BAD = "a\u202e\x1b[31m\x07\nz"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the clock says, to be changed."""
    clock = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(module, "_EVERY_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return clock


def tell(told: Told, now: list[float]) -> None:
    """A run of four, one of which was done before."""
    told.started("good")
    told.started("bad")
    now[0] += 30
    told.ended(changed())
    told.started("more")
    told.refresh()
    now[0] += 30
    told.again("more", "the worker died")
    told.ended(failed())
    told.refresh()


def said(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, now: list[float], quiet: bool = False) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with batch_progress(4, 1, quiet) as told:
        tell(told, now)
    return stream.getvalue()


def test_quietly_nothing_is_said(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    for stream in (Terminal(), io.StringIO()):
        assert said(stream, monkeypatch, now, quiet=True) == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_nothing_of_strangers_is_printed_raw(
    monkeypatch: pytest.MonkeyPatch, now: list[float], stream: io.StringIO
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with batch_progress(2, 0, quiet=False) as told:
        told.started(BAD)
        told.again(BAD, BAD)
        told.ended(Outcome("x", State.FAILED, error=Error(BAD, BAD + "https://u:secret@git.example/x")))
    text = stream.getvalue()
    assert text.count("a\ufffd\ufffd[31m\ufffd z") >= 4
    assert not {"\u202e", "\x07"} & set(text)
    assert "\x1b[31m\x07" not in text
    assert "secret" not in text


def test_in_a_pipe_each_repository_has_a_line(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream = io.StringIO()
    assert said(stream, monkeypatch, now) == (
        "[2/4] good: changed, 1 fix, 14 s\n"
        "[-/4] more: the worker died; it is tried again\n"
        "[3/4] bad: failed, 0.5 s: clone failed: no such host\n"
    )


def test_a_terminal_that_cannot_draw_is_a_pipe(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert said(Terminal(), monkeypatch, now).startswith("[2/4] good: changed")


def test_numbers_stand_below_each_other(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with batch_progress(100, 8, quiet=False) as told:
        told.ended(changed("a", fixes=(fix(), fix(), fix(dropped="fails"))))
        told.ended(Outcome("b", State.CLEAN))
    assert stream.getvalue() == "[  9/100] a: changed, 2 fixes, 1 dropped, 14 s\n[ 10/100] b: clean, 0.0 s\n"


def test_a_bar_with_the_pace_and_what_is_in_work(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    drawn = said(Terminal(), monkeypatch, now)
    assert "1/4" in drawn
    assert "2/4" in drawn
    assert "2.0 a minute, 1 min 0 s left" in drawn
    assert "good" in drawn
    assert "bad 30 s" in drawn.replace("\x1b[0m\x1b[2m", "").replace("\x1b[0m", "").replace("\x1b[1m", "")
    assert "clone failed: no such host" in drawn
    assert drawn.endswith("\x1b[2K")


def test_of_many_in_work_some_are_named(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with batch_progress(100, 0, quiet=False) as told:
        for number in range(9):
            told.started(f"name{number}")
    assert "name5" in stream.getvalue()
    assert "name6" not in stream.getvalue()
    assert "and 3 more" in stream.getvalue()


def test_it_is_drawn_now_and_then_only(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    monkeypatch.setattr(module, "_EVERY_SECONDS", 0.1)
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with batch_progress(100_000, 0, quiet=False) as told:
        for number in range(50_000):
            told.started(f"n{number}")
            told.ended(Outcome(f"n{number}", State.CLEAN))
        assert len(stream.getvalue()) < 5_000
        now[0] += 1
        told.refresh()
        assert "50000/100000" in stream.getvalue()


def test_the_bar_goes_away_where_the_run_fails(monkeypatch: pytest.MonkeyPatch, now: list[float]) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with pytest.raises(KeyboardInterrupt), batch_progress(2, 0, quiet=False):
        raise KeyboardInterrupt
    assert stream.getvalue().endswith("\x1b[?25h") or stream.getvalue().endswith("\x1b[2K")
