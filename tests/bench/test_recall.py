"""What the bars ask for."""

from recall import of_deletions, of_history, of_variations
from scoring import Outcome


def outcome(kind: str, *, edited: bool, noisy: str = "", noise: tuple[str, ...] = ()) -> Outcome:
    return Outcome("i", "a/b", kind, edited, False, edited, noisy, 0, noise)


def test_shares_are_held_against_their_bars() -> None:
    many = [outcome("move", edited=number < 6) for number in range(10)] + [
        outcome("factory", edited=False, noisy="safe", noise=("DVF501",)),
        outcome("factory", edited=True, noisy="unsafe", noise=("DVF104", "DVF501")),
    ]
    seen = {one.name: one for one in of_deletions(many)}
    assert seen["deletions: move, edited"].cells == ("deletions: move, edited", "60.0 %", "≥ 45 %", "met")
    assert not seen["deletions: factory, edited"].is_met
    assert seen["originals: edited as misplaced"].cells[1:] == ("8.3 %", "≤ 1 %", "**missed**")


def test_history_is_held_against_the_old() -> None:
    old = [outcome("x", edited=number < 2) for number in range(8)]
    new = [outcome("x", edited=number < 4) for number in range(8)]
    assert [one.is_met for one in of_history(new, old)] == [True, True]
    assert [one.is_met for one in of_history(old, new)] == [False, False]
    assert not list(of_history(new, []))


def test_of_what_is_repaired_all_has_to_pass() -> None:
    told = [{"found": True, "repaired": number > 0, "passes": number > 1} for number in range(100)]
    assert [(round(one.seen), one.is_met) for one in of_variations(told)] == [(100, True), (99, True), (99, False)]
