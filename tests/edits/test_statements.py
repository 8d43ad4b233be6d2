"""Statements removed and replaced."""

import pytest
from devfix_codemods.edits.errors import AnchorMissing
from devfix_codemods.edits.operations import InsertStatement, RemoveStatement, ReplaceExpression, ReplaceStatement

# name: (before, statement, after)
REMOVED = {
    "a line": ("a()\nb()\nc()\n", "b()", "a()\nc()\n"),
    "the first": ("a()\nb()\n", "a()", "b()\n"),
    "the last": ("a()\nb()\n", "b()", "a()\n"),
    "the last without newline": ("a()\nb()", "b()", "a()"),
    "comments above stay": ("a()\n# b\nb()  # beside\nc()\n", "b()", "a()\n# b\nc()\n"),
    "comments above the last stay": ("a()\n# b\nb()\n", "b()", "a()\n# b\n"),
    "the head of the file stays": ("#!sh\n# file\na()\nb()\n", "a()", "#!sh\n# file\nb()\n"),
    "blank lines stay": ("a()\n\nb()\n\nc()\n", "b()", "a()\n\n\nc()\n"),
    "in a block": ("if x:\n    a()\n    b()\n", "a()", "if x:\n    b()\n"),
    "comments in a block stay in it": (
        "if x:\n    a()\n    # b\n    b()\nc()\n",
        "b()",
        "if x:\n    a()\n    # b\nc()\n",
    ),
    "an emptied block": ("if x:\n    # why\n    a()\nb()\n", "a()", "if x:\n    # why\n    pass\nb()\n"),
    "an emptied else": ("if x:\n    a()\nelse:\n\tb()\n", "b()", "if x:\n    a()\nelse:\n\tpass\n"),
    "an emptied suite": ("if x: a()  # why\nb()\n", "a()", "if x: pass  # why\nb()\n"),
    "the first of a line": ("a(); b()  # c\n", "a()", "b()  # c\n"),
    "the last of a line": ("a(); b()  # c\n", "b()", "a()  # c\n"),
    "the middle of a suite": ("if x: a(); b(); c()\n", "b()", "if x: a(); c()\n"),
    "the last before a semicolon": ("a(); b();\n", "b()", "a()\n"),
    "a block": ("a()\n# why\nif x:\n    b()\n    # end\nc()\n", "if…", "a()\n# why\nc()\n"),
    "a decorated function": ("@d\ndef f(): pass\na()\n", "def…", "a()\n"),
    "everything": ("a()\n", "a()", "\n"),
}


@pytest.mark.parametrize(("before", "statement", "after"), REMOVED.values(), ids=REMOVED)
def test_remove(sheet, before, statement, after):
    file = sheet(before)
    assert file.edited(RemoveStatement(file.statement(statement))) == after


def test_neighbours_removed_together_leave_their_comments(sheet):
    file = sheet("if x:\n    # a\n    a()\n    # b\n    b()\n    # end\n")
    edits = [RemoveStatement(file.statement(text)) for text in ("a()", "b()")]
    assert file.edited(*edits) == "if x:\n    # a\n    # b\n    pass\n    # end\n"


def test_inserts_take_the_place_of_a_removed_statement(sheet):
    file = sheet("# a\na()  # beside\n")
    at = file.statement("a()")
    assert file.edited(RemoveStatement(at), InsertStatement(at, "after", "n()")) == "# a\nn()\n"


# name: (before, statement, code, after)
REPLACED = {
    "a line": ("a()\nx.to(d)  # why\nb()\n", "x.to(d)", "x = x.to(d)", "a()\nx = x.to(d)  # why\nb()\n"),
    "by several": ("# a\na()  # why\n", "a()", "b()\nc()", "# a\nb()\nc()  # why\n"),
    "by a block": ("# a\na()\nb()\n", "a()", "if x:\n    c()", "# a\nif x:\n    c()\nb()\n"),
    "by a block, with a comment beside": ("a()  # why\n", "a()", "if x:\n    c()", "# why\nif x:\n    c()\n"),
    "by a statement and a block": ("a()  # why\n", "a()", "b()\nif x:\n    c()", "b()  # why\nif x:\n    c()\n"),
    "in a line": ("a(); b(); c()\n", "b()", "d()", "a(); d(); c()\n"),
    "in a line, by several": ("a(); b(); c()  # e\n", "b()", "d()\nf()", "a()\nd()\nf()\nc()  # e\n"),
    "the last of a line": ("a(); b();  # c\n", "b()", "d()", "a(); d();  # c\n"),
    "in a suite": ("if x: a()  # c\n", "a()", "b()", "if x: b()  # c\n"),
    "in a suite, by several": ("if x: a()  # c\nd()\n", "a()", "b()\nc()", "if x:\n    b()\n    c()  # c\nd()\n"),
    "without last newline": ("a()", "a()", "b()", "b()"),
    "in a class": ("class C:\n\ta = 1\n", "a = 1", "b = 2", "class C:\n\tb = 2\n"),
}


@pytest.mark.parametrize(("before", "statement", "code", "after"), REPLACED.values(), ids=REPLACED)
def test_replace(sheet, before, statement, code, after):
    file = sheet(before)
    assert file.edited(ReplaceStatement(file.statement(statement), code)) == after


def test_inserts_beside_a_replaced_statement(sheet):
    file = sheet("a()  # why\n")
    at = file.statement("a()")
    edits = InsertStatement(at, "before", "n()"), ReplaceStatement(at, "b()"), InsertStatement(at, "after", "m()")
    assert file.edited(*edits) == "n()\nb()  # why\nm()\n"


def test_an_edit_beside_a_removed_statement_of_the_same_line(sheet):
    file = sheet("a(); b(c)\n")
    edits = RemoveStatement(file.statement("a()")), ReplaceExpression(file.expression("c"), "d")
    assert file.edited(*edits) == "b(d)\n"


@pytest.mark.parametrize("edit", [RemoveStatement, lambda span: ReplaceStatement(span, "n()")])
def test_an_elif_is_no_statement_of_its_own(sheet, edit):
    file = sheet("if a:\n    b()\nelif c:\n    d()\n")
    with pytest.raises(AnchorMissing):
        file.edited(edit(file.statement("elif…")))


def test_a_compound_statement_is_not_replaced(sheet):
    file = sheet("if a:\n    b()\n")
    with pytest.raises(AnchorMissing):
        file.edited(ReplaceStatement(file.statement("if…"), "n()"))
