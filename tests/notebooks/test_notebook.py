"""A notebook as one program, and the program's changes back in its cells."""

import json

import pytest
from devfix_codemods.notebooks.cells import ForeignNotebookError
from devfix_codemods.notebooks.notebook import Notebook, read
from devfix_codemods.source import SourceError

from .conftest import TEXT, cell, notebook

MARK = b"\xef\xbb\xbf"


def opened(data: bytes) -> Notebook:
    return read("a.ipynb", data)


def changed(data: bytes, old: str, new: str) -> bytes:
    """The notebook after `old` became `new` in its program."""
    book = opened(data)
    program = book.source.data.decode()
    assert program.count(old) == 1
    return book.written(program.replace(old, new).encode())


def sources(data: bytes) -> list[str]:
    return ["".join(one["source"]) for one in json.loads(data)["cells"]]


def test_a_line_that_gets_a_beginning_stays_one_string() -> None:
    for pieces in (["x = 1\n", "f()\n", "y = 2"], ["f()\n", "y = 2"], ["x = 1\n", "f()"]):
        now = json.loads(changed(notebook(pieces), "f()", "if x:\n    f()"))["cells"][0]["source"]
        assert now == "".join(pieces).replace("f()", "if x:\n    f()").splitlines(keepends=True)


# What is left alone

SAME = {
    "an empty cell": notebook([], "x = 1"),
    "one string": notebook(["x = 1\ny = 2"], indent=None),
    "a string": notebook(cell("x = 1\ny = 2")),
    "strings that are no lines": notebook(["x ", "= 1\ny = 2\n", "", "z"]),
    "a last line end": notebook("x = 1\n\n", "y = 2\n"),
    "carriage returns": notebook("x = 1\r\n%cd ..\r\ny = 2", "z = 3\n"),
    "magics": notebook("%cd ..\nif x:\n    !pip install \\\n  torch\nfiles = !ls\nx?\n?x\ny = %time f()\n"),
    "another program": notebook("%%bash\nls | wc", "%%html\n<b>", "%%timeit\nx = 1", "x = 1"),
    "a timed cell": notebook("%%time\nx = 1"),
    "top-level await": notebook("await f()\nasync for x in y:\n    pass"),
    "a semicolon": notebook("x.to(device);"),
    "our own words": notebook("# %% devfix cell 1\npass  # %% devfix 0\nx", "%cd"),
    "escapes": notebook("x = 'é\\n\t\"'", ascii_only=True),
    "no escapes": notebook("x = 'é 𝄞'"),
    "odd escapes": notebook("x = 'ab/c'").replace(b"ab/c", b"\\u0061b\\/c"),
    "a byte order mark": MARK + notebook("x = 1"),
    "windows": notebook("x = 1\ny = 2").replace(b"\n", b"\r\n"),
    "no last line end": notebook("x = 1").rstrip(),
    "tabs": notebook("x = 1").replace(b"\n ", b"\n\t"),
    "odd numbers": notebook("x = 1", zero=0).replace(b'"zero": 0', b'"cells ": [1e5, -0.0, 1234567890123 ]'),
}
each = pytest.mark.parametrize("data", SAME.values(), ids=SAME.keys())


@each
def test_a_program_that_stays_leaves_every_byte(data: bytes) -> None:
    book = opened(data)
    assert book.written(book.source.data) == data
    assert book.source.tree is not None


@each
def test_a_line_more_leaves_all_else(data: bytes) -> None:
    book = opened(data)
    last = book.parts[-1].cell
    after = json.loads(book.written(book.source.data.rstrip() + b"\nprint()\n").removeprefix(MARK))
    before = json.loads(data.removeprefix(MARK))
    for old, new in zip(before["cells"], after["cells"], strict=True):
        assert {**old, "source": 0} == {**new, "source": 0}
    assert {**before, "cells": 0} == {**after, "cells": 0}
    source = after["cells"][last.number - 1]["source"]
    assert "".join(source).rstrip("\r\n").endswith("print()")
    assert isinstance(source, list) is last.listed


def test_a_notebook_without_cells() -> None:
    assert opened(notebook()).written(b"") == notebook()


# What changes


def test_the_cells_are_one_program_in_order() -> None:
    data = notebook("import torch\n", cell(["# text"], TEXT), "%%bash\nls", "%cd ..\nx = 1")
    lines = [line for line in opened(data).source.lines if line and not line.startswith("#")]
    assert [lines[0], lines[-1]] == ["import torch", "x = 1"]
    assert len(lines) == 3


def test_lines_belong_to_their_cells() -> None:
    data = notebook("a\nb", cell(["# text"], TEXT), "c\n", "d")
    book = opened(data)
    numbers = {text: book.source.lines.index(text) + 1 for text in "abcd"}
    places = {text: book.place(number) for text, number in numbers.items()}
    assert {text: cell for text, (cell, _) in places.items()} == {"a": 1, "b": 1, "c": 3, "d": 4}
    assert {text: numbers[text] + 1 - first for text, (_, first) in places.items()} == {"a": 1, "b": 2, "c": 1, "d": 1}


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x = 1", "first = 0\nx = 1"),
        ("y = 2", "y = 2\nlast = 0"),
        ("y = 2", "between = 0\ny = 2"),
        ("x = 1", "x = 3"),
        ("x = 1\n", ""),
        ("\ny = 2", ""),
        ("x = 1\ny = 2", "w = 0"),
    ],
)
def test_only_the_lines_concerned_change(old: str, new: str, indent: int | None) -> None:
    data = notebook("a = 0", "x = 1\ny = 2", "z = 3", indent=indent)
    assert changed(data, old, new) == notebook("a = 0", "x = 1\ny = 2".replace(old, new), "z = 3", indent=indent)


def test_a_source_that_is_one_string_stays_one() -> None:
    assert changed(notebook(cell("x = 1\ny = 2")), "x = 1", "x = 1\nz = 3") == notebook(cell("x = 1\nz = 3\ny = 2"))


def test_strings_that_are_no_lines_stay_as_they_are() -> None:
    data = notebook(["x ", "= 1\ny = 2\n", "z"])
    assert changed(data, "y = 2", "y = 2\nw = 4") == notebook(["x ", "= 1\ny = 2\n", "w = 4\n", "z"])


def test_a_lone_string_gets_neighbours_like_itself() -> None:
    assert changed(notebook("x = 1", indent=2), "x = 1", "x = 1\ny = 2") == notebook("x = 1\ny = 2", indent=2)


def test_escapes_beside_a_change_stay() -> None:
    data = notebook("x = f('é/\t𝄞', y)", ascii_only=True).replace(b"/", b"\\/")
    assert changed(data, "y)", "y, 'ü')") == data.replace(b"y)", b"y, '\\u00fc')")


def test_letters_beside_a_change_stay() -> None:
    assert changed(notebook("x = f('é', y)"), "y)", "'ü')") == notebook("x = f('é', 'ü')")


def test_new_lines_end_as_the_others() -> None:
    data = notebook("x = 1\r\ny = 2\r\n")
    assert sources(changed(data, "x = 1\r\n", "x = 1\r\nz = 3\n")) == ["x = 1\r\nz = 3\r\ny = 2\r\n"]


def test_a_new_last_line_gets_no_end() -> None:
    data = notebook("import torch", "x = 1")
    assert sources(changed(data, "import torch\n", "import torch\n\ny = 2\n\n")) == ["import torch\n\ny = 2", "x = 1"]


def test_an_emptied_cell_stays_a_cell() -> None:
    assert sources(changed(notebook("a", "b", "c"), "b\n", "")) == ["a", "", "c"]


@pytest.mark.parametrize("gone", ["# %% devfix cell 1\n", "pass  # %% devfix 0\n"])
def test_what_would_lose_something_is_refused(gone: str) -> None:
    with pytest.raises(ValueError, match="would get lost"):
        changed(notebook("%cd ..\nx = 1"), gone, "")


# What is no notebook


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no valid JSON"),
        (b"{", "no valid JSON"),
        (b"[" * 100_000, "no valid JSON"),
        (b"[]", "the JSON is no object"),
        (b"{}", "format None; only format 4"),
        (b'{"nbformat": 3, "worksheets": []}', "format 3; only format 4"),
        (b'{"nbformat": 4}', "format 4 is read"),
        (b"\xff", "not valid utf-8"),
        (notebook(cell(1)), "the source of a cell is no text"),
        (notebook("a", cell(["# x"], TEXT), "b\nx = ("), "cell 3: syntax error: '(' was never closed (line 2)"),
        (notebook("%cd x\nb =\n"), "cell 1: syntax error: invalid syntax (line 2)"),
        (notebook("x = '\ud800'", ascii_only=True), "cell 1: syntax error"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError) as error:
        assert opened(data).source
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "metadata", [{"language_info": {"name": "R"}}, {"kernelspec": {"language": "julia", "name": "julia-1.9"}}]
)
def test_a_notebook_of_another_language(metadata: object) -> None:
    with pytest.raises(ForeignNotebookError, match="a notebook of"):
        opened(notebook("x <- 1", metadata=metadata))


def test_a_cell_of_another_language_is_left_out() -> None:
    data = notebook(cell(["SELECT 1"], metadata={"vscode": {"languageId": "sql"}}), "x = 1")
    assert [part.cell.number for part in opened(data).parts] == [2]
