"""Suggestions on the full screen."""

from pathlib import Path

import pytest
from devfix.commands.options import AnalysisOptions
from devfix.formats import ReportFormat
from devfix.review.session import Session, prepare

from ..conftest import TIERED, install
from .conftest import Shown, driven

TEXT = """\
import torch
from m import right, wrong

a = wrong(1)  # safe 1
b = wrong(2)  # unsafe 0.75
c = wrong(3)  # suggestion 0.62
d = wrong(4)  # suggestion 0.5
"""


@pytest.fixture(autouse=True)
def train(site: Path, tree: Path) -> Path:
    install(site, TIERED)
    (tree / "train.py").write_text(TEXT)
    return tree / "train.py"


def session(suggestions: bool) -> Session:
    given = AnalysisOptions(suggestions=suggestions)
    return prepare(given.ask(["."], given.overrides(), ReportFormat.TEXT), False)


def test_they_are_there_where_they_are_asked_for() -> None:
    for asked, marks in ((False, ".."), (True, "....")):
        driven(lambda shown, marks=marks: _is(shown.decisions, marks), session=session(asked))


def test_they_are_told_as_such() -> None:
    def suggestion(shown: Shown) -> None:
        assert "suggestion: several weak links lead to it; confidence 0.62" in shown.text
        assert "TIER101~ wrong-word" in shown.text

    def unsafe(shown: Shown) -> None:
        assert "unsafe: a choice, or a visible effect; confidence 0.75" in shown.text

    def certain(shown: Shown) -> None:
        assert "safe: cannot change a program that works" in shown.text
        assert "confidence" not in shown.text

    driven(certain, "j", unsafe, "j", suggestion, session=session(True))


def test_they_are_taken_along_only_by_suggestions() -> None:
    def left(shown: Shown) -> None:
        assert "1 unsafe, 2 suggestions left to decide" in shown.text
        _is(shown.decisions, "y...")

    driven("a", left, session=session(True))
    driven("j", "j", "A", lambda shown: _is(shown.decisions, "y.yy"), session=session(True))


def test_only_they_are_shown_where_that_is_wanted() -> None:
    from devfix.review.filtering import Filter, choices

    items = session(True).review.items
    assert ("safety suggestion", "suggestion") in choices(items)
    chosen = Filter().choosing("safety suggestion")
    assert [chosen.shows(item, None) for item in items] == [False, False, True, True]


def _is(found: str, expected: str) -> None:
    assert found == expected
