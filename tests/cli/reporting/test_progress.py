"""The bar on standard error."""

import io
import sys

import pytest
from devfix.reporting import progress as module
from devfix.reporting.progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def drawn(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    patience: float = 0.0,
    quiet: bool = False,
    term: str = "xterm",
) -> str:
    """What a piece of work draws on the stream."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(module, "_PATIENCE_SECONDS", patience)
    monkeypatch.setattr(module, "_EVERY_SECONDS", 0.0)
    with progress("Checking", quiet=quiet) as advance:
        advance(1, 200)
        advance(150, 200)
    return stream.getvalue()


def test_short_work_has_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, Terminal(), patience=60) == ""


def test_long_work_has_a_bar_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = drawn(monkeypatch, Terminal())
    assert "150/200" in bar
    assert bar.endswith("\x1b[2K")


def test_nobody_asked_for_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, Terminal(), quiet=True) == ""
    assert drawn(monkeypatch, Terminal(), term="dumb") == ""
    assert drawn(monkeypatch, io.StringIO()) == ""
