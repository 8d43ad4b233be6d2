import pytest
from devfix_codemods.edits.errors import EditConflict
from devfix_codemods.edits.operations import (
    Argument,
    InsertStatement,
    MoveImportedName,
    RemoveStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)

TEXT = "from m import a, b\nif x:\n    y = f(a + b)\nz()\n"


@pytest.fixture
def file(sheet):
    return sheet(TEXT)


def _edits(file):
    """Pairs that exclude each other."""
    call, total, part = (file.expression(text) for text in ("f(a + b)", "a + b", "a"))
    line, block, names = file.statement("y = …"), file.statement("if…"), file.statement("from…")
    return {
        "two codes for one expression": (ReplaceExpression(total, "c"), ReplaceExpression(total, "d")),
        "two codes around one expression": (
            ReplaceExpression(total, "c(__node__)"),
            ReplaceExpression(total, "d(__node__)"),
        ),
        "a part of what is thrown away": (ReplaceExpression(total, "c"), ReplaceExpression(part, "d")),
        "a call that is thrown away": (ReplaceExpression(call, "c"), RewriteCall(call, "g")),
        "two callees": (RewriteCall(call, "g"), RewriteCall(call, "h")),
        "two argument lists": (RewriteCall(call, None, ()), RewriteCall(call, None, (Argument("c"),))),
        "an expression of a removed statement": (RemoveStatement(line), ReplaceExpression(part, "c")),
        "an expression of a replaced statement": (ReplaceStatement(line, "n()"), ReplaceExpression(call, "c")),
        "removed and replaced": (RemoveStatement(line), ReplaceStatement(line, "n()")),
        "replaced twice": (ReplaceStatement(line, "m()"), ReplaceStatement(line, "n()")),
        "an insert in a removed block": (RemoveStatement(block), InsertStatement(line, "after", "n()")),
        "one name to two modules": (MoveImportedName(names, "a", "n"), MoveImportedName(names, "a", "o")),
        "a name of a removed import": (RemoveStatement(names), MoveImportedName(names, "a", "n")),
    }


@pytest.mark.parametrize("name", [
    "two codes for one expression",
    "two codes around one expression",
    "a part of what is thrown away",
    "a call that is thrown away",
    "two callees",
    "two argument lists",
    "an expression of a removed statement",
    "an expression of a replaced statement",
    "removed and replaced",
    "replaced twice",
    "an insert in a removed block",
    "one name to two modules",
    "a name of a removed import",
])  # fmt: skip
def test_conflict(file, name):
    for pair in (_edits(file)[name], _edits(file)[name][::-1]):
        with pytest.raises(EditConflict) as caught:
            file.edited(*pair)
        assert (caught.value.first, caught.value.second) == pair


def test_equal_edits_are_no_conflict(file):
    edit = ReplaceExpression(file.expression("a + b"), "c")
    assert file.edited(edit, edit) == TEXT.replace("a + b", "c")


def test_edits_of_neighbours_are_no_conflict(file):
    edits = ReplaceExpression(file.expression("a"), "c"), ReplaceExpression(file.expression("b"), "d")
    assert file.edited(*edits) == TEXT.replace("a + b", "c + d")


def test_names_to_two_modules_are_no_conflict(file):
    at = file.statement("from…")
    edits = MoveImportedName(at, "a", "n"), MoveImportedName(at, "b", "n")
    assert file.edited(*edits) == TEXT.replace("from m", "from n")
