"""Whatever happens to the lines of a notebook's program happens to its cells, and to nothing else."""

import json
from typing import Any

import pytest
from devfix_codemods.notebooks.notebook import read
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import TEXT, cell, notebook

PYTHON = ["x = 1", "y = 'é\\n'", 'z = "𝄞\t/"', "# ü", "f(x, y)", "model.to(device);", "await f()"]
MAGIC = ["%cd ..", "!ls 'it's", "x?", "files = !ls"]
NEW = ["print(0)", "y = y.to(device)", "s = 'ß'"]


def shaped(draw: Any, lines: list[str]) -> dict[str, Any]:
    """The lines as a cell: a list of lines, a list of other pieces, or one string."""
    text = "\n".join(lines)
    if draw(st.booleans()):
        return cell(text)
    cuts = sorted(draw(st.sets(st.integers(1, max(len(text) - 1, 1)), max_size=3)))
    pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)])]
    return cell(draw(st.sampled_from([[f"{line}\n" for line in lines[:-1]] + lines[-1:], pieces])))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_lines_come_and_go_in_their_cells(data: st.DataObject) -> None:
    before = data.draw(
        st.lists(st.lists(st.sampled_from(PYTHON + MAGIC), min_size=1, max_size=4), min_size=1, max_size=4)
    )
    cells = [shaped(data.draw, lines) for lines in before]
    indent = data.draw(st.sampled_from([None, 1, 2]))
    document = notebook(*cells, cell(["# text"], TEXT), indent=indent, ascii_only=data.draw(st.booleans()))
    book = read("a.ipynb", document)
    program, after = list(book.source.lines), [list(lines) for lines in before]
    for part in reversed(book.parts):
        lines = after[part.cell.number - 1]
        at = data.draw(st.integers(0, len(lines) - 1))
        if lines[at] in MAGIC:
            continue
        new = data.draw(st.lists(st.sampled_from(NEW), max_size=2)) + data.draw(st.sampled_from([[], [lines[at]]]))
        lines[at : at + 1] = new
        program[part.first - 1 + at : part.first + at] = new
    written = book.written("\n".join(program).encode())
    old, now = json.loads(document), json.loads(written)
    texts = ["".join(one["source"]) for one in now["cells"]]
    assert texts == ["\n".join(lines).rstrip("\n") for lines in after] + ["# text"]
    for one, other in zip(old["cells"], now["cells"], strict=True):
        assert {**one, "source": type(one["source"])} == {**other, "source": type(other["source"])}
    assert {**old, "cells": 0} == {**now, "cells": 0}
    if texts == ["".join(one["source"]) for one in old["cells"]]:
        assert written == document


@pytest.mark.parametrize("indent", [None, 1])
def test_a_cell_that_loses_all_and_gains_again(indent: int | None) -> None:
    data = notebook("x = 1", "y = 2", indent=indent)
    book = read("a.ipynb", data)
    emptied = book.written(book.source.data.replace(b"x = 1\n", b""))
    again = read("a.ipynb", emptied)
    assert again.written(again.source.data.replace(b"1\n\n", b"1\n\nx = 1\n", 1)) != emptied
