"""Paragraphs, folded on a terminal and whole anywhere else."""

import io
import re

import pytest
from devfix.reporting.terminal import Printer

TEXT = "        " + " ".join(f"word{number}" for number in range(30))


def printed(monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": "80", **variables}.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    Printer(stream).paragraph(TEXT, "message")
    return re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue()).splitlines()


def test_a_pipe_gets_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch) == [TEXT]


def test_a_terminal_gets_lines_that_fit_and_lose_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = printed(monkeypatch, FORCE_COLOR="1")
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert " ".join(line.strip() for line in lines) == TEXT.strip()
    assert [len(line) - len(line.lstrip()) for line in lines] == [8] + [10] * (len(lines) - 1)


def test_a_narrow_terminal_folds_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(monkeypatch, FORCE_COLOR="1", COLUMNS="30") == [TEXT]
