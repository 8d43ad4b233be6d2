"""The search for what breaks a set: it never keeps what breaks, and keeps to its budget."""

import itertools
from collections.abc import Sequence

import pytest
from devfix.replay.bisecting import sift

PIECES = list(range(7))


@pytest.mark.parametrize("bad", [set(bad) for count in (1, 2, 3, 7) for bad in itertools.combinations(PIECES, count)])
def test_pieces_that_break_alone_are_found(bad: set[int]) -> None:
    asked: list[list[int]] = []

    def holds(pieces: Sequence[int]) -> bool:
        asked.append(list(pieces))
        return bad.isdisjoint(pieces)

    good, broken, unknown = sift(PIECES, holds, 100)
    assert set(broken) == bad
    assert good == [piece for piece in PIECES if piece not in bad]
    assert unknown == []
    assert all(pieces == sorted(pieces) for pieces in asked)


def test_one_bad_piece_among_many_is_found_in_few_runs() -> None:
    asked = []

    def holds(pieces: Sequence[int]) -> bool:
        asked.append(pieces)
        return 37 not in pieces

    assert sift(range(64), holds, 100)[1] == [37]
    assert len(asked) <= 12


def test_two_that_only_break_together_cost_one_of_them() -> None:
    good, broken, _ = sift(PIECES, lambda pieces: not {2, 5} <= set(pieces), 100)
    assert broken == [5]
    assert good == [0, 1, 2, 3, 4, 6]


@pytest.mark.parametrize("budget", range(8))
def test_the_budget_is_kept_and_what_was_not_tried_is_not_kept(budget: int) -> None:
    asked: list[list[int]] = []

    def holds(pieces: Sequence[int]) -> bool:
        asked.append(list(pieces))
        return {1, 6}.isdisjoint(pieces)

    good, broken, unknown = sift(PIECES, holds, budget)
    assert len(asked) <= budget
    assert sorted([*good, *broken, *unknown]) == PIECES
    assert good == [] or good in asked
    assert set(broken) <= {1, 6}


def test_a_single_piece_needs_no_run() -> None:
    assert sift([1], lambda pieces: pytest.fail("was run"), 5) == ([], [1], [])
