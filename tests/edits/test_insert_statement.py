import pytest
from devfix_codemods.edits.errors import AnchorMissing, InvalidCode
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.source import Span

# name: (before, anchor, where, code, after)
CASES = {
    "after": ("a()\nb()\n", "a()", "after", "n()", "a()\nn()\nb()\n"),
    "before": ("a()\nb()\n", "b()", "before", "n()", "a()\nn()\nb()\n"),
    "several statements": ("a()\n", "a()", "after", "n()\nm()", "a()\nn()\nm()\n"),
    "with its own comment": ("a()\n", "a()", "after", "# why\nn()  # so", "a()\n# why\nn()  # so\n"),
    "indented": ("if x:\n  a()\n", "a()", "after", "n()", "if x:\n  a()\n  n()\n"),
    "a block takes the indentation of the file": (
        "if x:\n  a()\n",
        "a()",
        "after",
        "with n:\n    m()",
        "if x:\n  a()\n  with n:\n    m()\n",
    ),
    "below a comment beside it": ("a()  # why\nb()\n", "a()", "after", "n()", "a()  # why\nn()\nb()\n"),
    "above the comment of the next": ("a()\n# b\nb()\n", "a()", "after", "n()", "a()\nn()\n# b\nb()\n"),
    "before, above its comment": ("a()\n\n# b\nb()\n", "b()", "before", "n()", "a()\n\nn()\n# b\nb()\n"),
    "before, below a comment apart": (
        "a()\n# part\n\n# b\nb()\n",
        "b()",
        "before",
        "n()",
        "a()\n# part\n\nn()\n# b\nb()\n",
    ),
    "after a block with a comment at its end": (
        "if x:\n    a()\n    # end\n# b\nb()\n",
        "if x…",
        "after",
        "n()",
        "if x:\n    a()\n    # end\nn()\n# b\nb()\n",
    ),
    "last in a block with a comment at its end": (
        "if x:\n    a()\n    # end\nb()\n",
        "a()",
        "after",
        "n()",
        "if x:\n    a()\n    n()\n    # end\nb()\n",
    ),
    "without last newline": ("a()", "a()", "after", "n()", "a()\nn()"),
    "first, above its comment": ("# file\n\n# a\na()\n", "a()", "before", "n()", "# file\n\nn()\n# a\na()\n"),
    "first, below the head of the file": ("#!sh\n# file\na()\n", "a()", "before", "n()", "#!sh\n# file\nn()\na()\n"),
    "first, below a cookie in line two": (
        "\n# coding: utf-8\na()\n",
        "a()",
        "before",
        "n()",
        "\n# coding: utf-8\nn()\na()\n",
    ),
    "first of an empty head": ("a()\n", "a()", "before", "n()", "n()\na()\n"),
    "after a docstring": ('"""Doc."""\na()\n', '"""Doc."""', "after", "n()", '"""Doc."""\nn()\na()\n'),
    "after a function": ("def f():\n    a()\n\n\nb()\n", "def…", "after", "n()", "def f():\n    a()\nn()\n\n\nb()\n"),
    "before a decorated function": (
        "a()\n\n@d\n# c\ndef f():\n    b()\n",
        "def…",
        "before",
        "n()",
        "a()\n\nn()\n@d\n# c\ndef f():\n    b()\n",
    ),
    "after a decorated class": (
        "@d\nclass C:\n    a = 1\n",
        "class…",
        "after",
        "n()",
        "@d\nclass C:\n    a = 1\nn()\n",
    ),
    "in a class": ("class C:\n    a = 1\n", "a = 1", "after", "n = 1", "class C:\n    a = 1\n    n = 1\n"),
    "in else": (
        "for x in y:\n    a()\nelse:\n    b()\n",
        "b()",
        "before",
        "n()",
        "for x in y:\n    a()\nelse:\n    n()\n    b()\n",
    ),
    "in except": (
        "try:\n    a()\nexcept E:\n    b()\n",
        "b()",
        "after",
        "n()",
        "try:\n    a()\nexcept E:\n    b()\n    n()\n",
    ),
    "in finally": (
        "try:\n    a()\nfinally:\n    b()\n",
        "b()",
        "before",
        "n()",
        "try:\n    a()\nfinally:\n    n()\n    b()\n",
    ),
    "in case": (
        "match x:\n    case 1:\n        a()\n",
        "a()",
        "after",
        "n()",
        "match x:\n    case 1:\n        a()\n        n()\n",
    ),
    "after match": (
        "match x:\n    case 1:\n        a()\n",
        "match…",
        "after",
        "n()",
        "match x:\n    case 1:\n        a()\nn()\n",
    ),
    "before an elif: before its chain": (
        "if a:\n    b()\nelif c:\n    d()\n",
        "elif…",
        "before",
        "n()",
        "n()\nif a:\n    b()\nelif c:\n    d()\n",
    ),
    "after an elif: after its chain": (
        "if a:\n    b()\nelif c:\n    d()\nelif e:\n    f()\ng()\n",
        "elif c…",
        "after",
        "n()",
        "if a:\n    b()\nelif c:\n    d()\nelif e:\n    f()\nn()\ng()\n",
    ),
    "inside an elif": (
        "if a:\n    b()\nelif c:\n    d()\n",
        "d()",
        "after",
        "n()",
        "if a:\n    b()\nelif c:\n    d()\n    n()\n",
    ),
    "an if inside else is no elif": (
        "if a:\n    b()\nelse:\n    if c:\n        d()\n",
        "if c…",
        "before",
        "n()",
        "if a:\n    b()\nelse:\n    n()\n    if c:\n        d()\n",
    ),
    "between statements of a line": ("a(); b()  # c\n", "a()", "after", "n()", "a(); n(); b()  # c\n"),
    "before a later statement of a line": ("a();b()\n", "b()", "before", "n()", "a();n(); b()\n"),
    "before the first of a line": ("a(); b()\n", "a()", "before", "n()", "n()\na(); b()\n"),
    "after the last of a line": ("a(); b()\n", "b()", "after", "n()", "a(); b()\nn()\n"),
    "after the last of a line with a semicolon": ("a(); b();\n", "b()", "after", "n()", "a(); b();\nn()\n"),
    "a block between statements of a line": (
        "# a\na(); b()  # c\n",
        "a()",
        "after",
        "if n:\n    m()",
        "# a\na()\nif n:\n    m()\nb()  # c\n",
    ),
    "two statements between statements of a line": ("a(); b()\n", "a()", "after", "n()\nm()", "a()\nn()\nm()\nb()\n"),
    "a suite grows": ("if x: a()  # c\nb()\n", "a()", "after", "n()", "if x: a(); n()  # c\nb()\n"),
    "a suite grows at its start": ("if x: a()\n", "a()", "before", "n()", "if x: n(); a()\n"),
    "a suite of several grows": ("if x: a(); b()\n", "a()", "after", "n()", "if x: a(); n(); b()\n"),
    "a suite becomes a block for two statements": (
        "if x: a()  # c\nb()\n",
        "a()",
        "after",
        "n()\nm()",
        "if x:\n    a()  # c\n    n()\n    m()\nb()\n",
    ),
    "a suite becomes a block for a compound one": (
        "def f(): return 1\n",
        "return 1",
        "before",
        "if n:\n    m()",
        "def f():\n    if n:\n        m()\n    return 1\n",
    ),
    "a suite of else": ("if x: a()\nelse: b()\n", "b()", "after", "n()", "if x: a()\nelse: b(); n()\n"),
    "after a one-line if": ("if x: a()\nb()\n", "if…", "after", "n()", "if x: a()\nn()\nb()\n"),
}


@pytest.mark.parametrize(("before", "anchor", "where", "code", "after"), CASES.values(), ids=CASES)
def test_insert(sheet, before, anchor, where, code, after):
    file = sheet(before)
    assert file.edited(InsertStatement(file.statement(anchor), where, code)) == after


def test_several_at_one_anchor_keep_their_order_and_equal_ones_are_made_once(sheet):
    file = sheet("a()\n")
    at = file.statement("a()")
    edits = [InsertStatement(at, where, code) for where in ("after", "before") for code in ("n()", "m()", "n()")]
    assert file.edited(*edits) == "n()\nm()\na()\nn()\nm()\n"


def test_inserts_around_one_line_compose(sheet):
    file = sheet("a(); b()\n")
    edits = [InsertStatement(file.statement(text), "after", code) for text, code in (("b()", "m()"), ("a()", "n()"))]
    assert file.edited(*edits) == "a(); n(); b()\nm()\n"


@pytest.mark.parametrize("span", [Span(1, 0, 1, 2), Span(1, 4, 1, 5), Span(9, 0, 9, 1), Span(1, 0, 2, 3)])
def test_a_place_without_a_statement_is_refused(sheet, span):
    file = sheet("a = b\nif c:\n    d\n")
    with pytest.raises(AnchorMissing) as caught:
        file.edited(InsertStatement(Span(span.line, span.column + 1, span.end_line, span.end_column), "after", "n()"))
    assert caught.value.edit.code == "n()"


@pytest.mark.parametrize("code", ["", "# only a comment", "a b", "if x:", "return ("])
def test_code_that_is_no_statement_is_refused(sheet, code):
    file = sheet("a\n")
    with pytest.raises(InvalidCode):
        file.edited(InsertStatement(file.statement("a"), "after", code))
