"""The rows of a change: what a fix does, and what it is about."""

from pathlib import Path

import pytest
from devfix.review.changes import Block, blocks

from .conftest import session_of
from .test_combining import LOOP, notebook


def rows(block: Block) -> list[str]:
    """`5|6 text`, a sign for each side that a change has."""
    shown = []
    for row in block.rows:
        left = f"{block.number(row.before, False)}" if row.before else ""
        right = f"{block.number(row.after, True)}" if row.after else ""
        side = row.after or row.before
        shown.append(f"{left}|{right}{'*' if row.is_change else ' '}{side.text.strip() if side else ''}")
    return shown


def test_the_operation_that_fails_is_shown_with_its_fix(tree: Path) -> None:
    text = LOOP.replace("    loss", "    print(1)\n    print(2)\n    print(3)\n    print(4)\n    print(5)\n    loss")
    (tree / "a.py").write_text(text)
    first, second = blocks(session_of().review.items[0])
    assert "|9*y = y.to(device)" in rows(first)
    assert rows(second) == [
        "13|14 print(5)",
        "14|15 loss = criterion(model(x), y)",
        "15|16 other = criterion(model(x), z)",
    ]


JOINED = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.ones(4, 2, device=device)
y = torch.cat(
    [
{above}        torch.zeros(4, 2),
{below}    ],
    dim=1,
)
"""


@pytest.mark.parametrize("count", [4, 6])
def test_a_long_operation_is_shown_in_order_around_its_fix(tree: Path, count: int) -> None:
    (tree / "a.py").write_text(JOINED.format(above="        x,\n" * count, below="        x,\n" * count))
    (item,) = session_of().review.items
    (fixed,) = [line for block in blocks(item) for line in rows(block) if "*" in line]
    assert fixed == f"{7 + count}|{7 + count}*torch.zeros(4, 2, device=device),"
    numbers = [row.before.number for block in blocks(item) for row in block.rows if row.before is not None]
    assert numbers == sorted(set(numbers))
    assert {5, 10 + 2 * count} <= set(numbers)
    assert all(
        len({row.before.number - at for at, row in enumerate(block.rows) if row.before}) == 1 for block in blocks(item)
    )


def test_the_end_of_the_file_is_no_line(tree: Path) -> None:
    (tree / "a.py").write_text(LOOP)
    for item in session_of().review.items:
        assert rows(blocks(item)[-1])[-1] == "10|11 other = criterion(model(x), z)"


@pytest.mark.parametrize("gap", ["", "print(0)\n" * 6])
def test_lines_of_a_notebook_count_by_cell(tree: Path, gap: str) -> None:
    head, body = LOOP.split("for ")
    (tree / "a.ipynb").write_text(notebook("print(1)", head, f"{gap}for {body}"))
    found = blocks(session_of().review.items[0])
    shown = [line for block in found if block.cell == 3 for line in rows(block)]
    first = 1 + gap.count("\n")
    assert f"|{first + 2}*y = y.to(device)" in shown
    assert f"{first + 2}|{first + 3} loss = criterion(model(x), y)" in shown
    assert not any("devfix cell" in line for block in found for line in rows(block))
