"""Which lines a patch is watched by, and which of them belong to which fix."""

import pytest
from devfix.replay.patches import Patch
from devfix_codemods.edits.operations import AddImport, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.source import Span


def span(line: int, end: int | None = None) -> Span:
    return Span(line, 0, end or line, 1)


@pytest.mark.parametrize(
    ("before", "after", "watched"),
    [
        ("a = 1\nb = 2\n", "a = 1\nb = 3\n", (2,)),
        ("a = 1\n", "a = 1\nb = 2\n", (2,)),
        ("f(\n  a,\n  b,\n)\n", "f(\n  a.to(d),\n  b,\n)\n", (1, 2, 3, 4)),
        ("a = 1\nb = 2\nc = 3\n", "a = 1\nc = 3\n", (1, 2)),
        ("for x in y:\n    f(x)\n", "for x in z:\n    f(x)\n", (1,)),
        ("with a(\n  1\n):\n    f()\n", "with a(\n  2\n):\n    f()\n", (1, 2, 3)),
        ("@amp\ndef f():\n    g()\n", "@amp('cuda')\ndef f():\n    g()\n", (1, 2)),
        ("# old\nf()\n", "# new\nf()\n", ()),
        ('def f():\n    "old"\n    g()\n', 'def f():\n    "new"\n    g()\n', ()),
        ("match x:\n    case 1:\n        f()\n", "match y:\n    case 1:\n        f()\n", (1,)),
        ("# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = '\xe8'\n", (2,)),
        ("x = 1\r\ny = 2\r\n", "x = 1\r\ny = 3\r\n", (2,)),
        ("x = 1\n", "x = (\n", ()),
    ],
)
def test_the_watched_lines_are_those_of_patched_statements(before: str, after: str, watched: tuple[int, ...]) -> None:
    assert Patch(before.encode("latin-1"), after.encode("latin-1")).watched == watched


@pytest.mark.parametrize(
    ("after", "ran", "is_reached"),
    [
        ("a = 1\nb = 3\nf(b, d)\n", {2}, False),
        ("a = 1\nb = 3\nf(b, d)\n", {2, 3}, True),
        ("a = 1\nb = 2\nf(\n  b,\n  d,\n)\n", {3}, True),
        ("a = 1\nb = 2\n", {1}, False),
    ],
)
def test_what_stands_for_a_line_that_was_changed(after: str, ran: set[int], is_reached: bool) -> None:
    assert Patch(b"a = 1\nb = 2\nf(b)\n", after.encode()).ran_in_place_of(3, ran) is is_reached


def test_any_line_of_a_statement_shows_that_it_ran() -> None:
    patch = Patch(b"f(\n  a,\n)\n", b"f(\n  b,\n)\n")
    assert patch.coverage({2}).missed == ()
    assert patch.coverage({9}).is_empty


def test_a_statement_that_makes_a_lambda_does_not_run_it() -> None:
    before = b"options = {'map_location': lambda storage,\n    place: storage.cuda()}\nload(**options)\n"
    patch = Patch(before, before.replace(b"cuda()", b"cpu()"))
    assert patch.coverage({1, 3}).is_empty
    assert patch.coverage({1, 2}).missed == ()
    both = Patch(before, before.replace(b"cuda()", b"cpu()").replace(b"options = {", b"options = {'mmap': True, "))
    assert [place.first for place in both.coverage({1}).missed] == [2]
    assert not Patch(b"f = lambda x: x.cuda()\n", b"f = lambda x: x.cpu()\n").coverage({1}).is_empty


def test_declarations_show_nothing_where_something_else_was_patched() -> None:
    before, after = b"import a\ndef f(x):\n    return g(x)\n", b"import b\ndef f(y):\n    return g(y)\n"
    coverage = Patch(before, after).coverage({1, 2})
    assert coverage.is_empty
    assert [place.first for place in coverage.missed] == [3]
    assert not Patch(b"import a\nf()\n", b"import b\nf()\n").coverage({1}).is_empty


def test_a_patch_without_statements_is_not_empty_handed() -> None:
    assert not Patch(b"# a\nf()\n", b"# b\nf()\n").coverage(set()).is_empty


def test_unchanged_lines_are_followed() -> None:
    patch = Patch(b"a\nb\nc\nd\n", b"a\nnew\nb\nC\nd\n")
    assert [patch.moved(line) for line in (1, 2, 3, 4)] == [1, 3, None, 5]
    assert patch.is_patched(2)
    assert not patch.is_patched(5)


def test_each_fix_has_its_own_lines() -> None:
    before = b"import torch\nfor x, y in loader:\n    f(x, y)\ndef g(z):\n    h(z)\n"
    after = (
        b"import torch\nimport other\nfor x, y in loader:\n    y = y.to(d)\n    f(x, y)\ndef g(z):\n    h(z.cpu())\n"
    )
    patch = Patch(before, after)
    inserted = Fix(Safety.SAFE, "", (InsertStatement(span(3), "before", "y = y.to(d)"), AddImport("other")))
    replaced = Fix(Safety.SAFE, "", (ReplaceExpression(span(5), "__node__.cpu()"),))
    assert patch.coverage({4}, inserted).missed == ()
    assert [place.first for place in patch.coverage({4}, replaced).missed] == [7]
    assert patch.coverage({7}, inserted).is_empty


def test_many_equal_lines_are_not_compared_with_one_another() -> None:
    text = "x = [\n" + "    0,\n" * 20_000 + "]\ny = 1\n"
    assert Patch(text.encode(), text.replace("y = 1", "y = 2").encode()).watched == (20_003,)
