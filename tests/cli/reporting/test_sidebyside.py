import pytest
from devfix.reporting.sidebyside import Row, Side, hunks

LINES = [f"line {number}" for number in range(1, 21)]


def test_texts_that_are_the_same_have_no_hunks() -> None:
    assert hunks(LINES, LINES) == []
    assert hunks([], []) == []


def test_a_new_line_has_nothing_on_the_left() -> None:
    (found,) = hunks(LINES, [*LINES[:10], "new", *LINES[10:]], context=1)
    assert found == (
        Row(Side(10, "line 10"), Side(10, "line 10"), is_change=False),
        Row(None, Side(11, "new")),
        Row(Side(11, "line 11"), Side(12, "line 11"), is_change=False),
    )


def test_a_line_that_goes_has_nothing_on_the_right() -> None:
    (found,) = hunks(LINES, LINES[1:], context=0)
    assert found == (Row(Side(1, "line 1"), None),)


def test_what_changed_inside_a_line_is_marked() -> None:
    (found,) = hunks(["x = torch.zeros(3)"], ["x = torch.zeros(3, device=device)"])
    (row,) = found
    assert row.before == Side(1, "x = torch.zeros(3)")
    assert row.after is not None
    assert [row.after.text[start:end] for start, end in row.after.changed] == [", device=device"]


def test_lines_that_share_little_are_not_marked() -> None:
    (found,) = hunks(["import os"], ["x = y.to(device)"])
    assert found == (Row(Side(1, "import os"), Side(1, "x = y.to(device)")),)


def test_changes_far_apart_are_hunks_of_their_own() -> None:
    after = ["first", *LINES[1:19], "last"]
    assert [len(one) for one in hunks(LINES, after)] == [4, 4]


def test_more_lines_on_one_side() -> None:
    (found,) = hunks(["x = f(a)"], ["x = f(a, b)", "y = 1"])
    assert [(row.before is None, row.after is None) for row in found] == [(False, False), (True, False)]


@pytest.mark.parametrize("number", [1, 2, 25, 50])
def test_one_of_many_lines_that_are_the_same(number: int) -> None:
    lines = ["first", *[""] * 50, "last"]
    (found,) = hunks(lines, lines[:number] + lines[number + 1 :])
    (gone,) = [row for row in found if row.is_change]
    assert (gone.before and gone.before.text, gone.after) == ("", None)
    assert found[-1] == Row(Side(52, "last"), Side(51, "last"), is_change=False)


def test_a_change_in_a_long_text_has_the_numbers_of_its_lines() -> None:
    lines = [f"line {number}" for number in range(1, 100_001)]
    (found,) = hunks(lines, [*lines[:50_000], "new", *lines[50_000:]], context=1)
    assert [(row.before and row.before.number, row.after and row.after.number) for row in found] == [
        (50_000, 50_000),
        (None, 50_001),
        (50_001, 50_002),
    ]
