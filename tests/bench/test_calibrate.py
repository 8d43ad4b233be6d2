"""Strengths that are known are found again from findings drawn by them."""

import random

import pytest
from calibrate import Judged, fitted, judged, reliability
from scoring import Found, Outcome

TRUE = {"loader-item": 0.97, "unknown-call": 0.6, "sibling": 0.8}


def drawn(count: int) -> list[Judged]:
    chance = random.Random(1)
    many: list[Judged] = []
    for _ in range(count):
        links = tuple(link for link in TRUE for _ in range(chance.choice([0, 1, 1, 2])))
        one = Judged("a/b", links, right=False)
        many.append(Judged("a/b", links, right=chance.random() < one.confidence(TRUE)))
    return many


def test_the_strengths_are_found() -> None:
    assert fitted(drawn(6000), {}, prior=1) == pytest.approx(TRUE, abs=0.03)


def test_without_findings_the_table_stays() -> None:
    assert fitted([], TRUE, prior=1) == pytest.approx(TRUE)
    assert fitted([Judged("a/b", ("sibling",), right=False)], TRUE, prior=1000) == pytest.approx(TRUE, abs=0.02)


def test_the_bins_tell_how_often_a_confidence_is_right() -> None:
    table = reliability([(0.9, True)] * 9 + [(0.9, False), (1.0, True)])
    assert "0.90 to 0.95         10    0.90    0.90" in table
    assert "0.95 to 1.00          1    1.00    1.00" in table


def test_what_is_right_and_what_is_wrong() -> None:
    near, both, far, only = (
        Found("C", name, line, "safe", 0.9, (name,)) for name, line in zip("abcd", (11, 10, 90, 50))
    )
    outcome = Outcome(
        "i", "r/r", "move", True, True, True, "", 0, place=(10,), before=(near, both, far), after=(both, only)
    )
    assert {(one.links, one.right) for one in judged([outcome])} == {(("a",), True), (("b",), False), (("d",), False)}
