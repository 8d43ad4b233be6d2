import pytest
from devfix_codemods.edits.errors import AnchorMissing, InvalidCode
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.source import Span

# name: (before, expression, code, after)
CASES = {
    "name": ("x = a\n", "a", "b", "x = b\n"),
    "around a name": ("x = a\n", "a", "__node__.to(d)", "x = a.to(d)\n"),
    "around a call keeps its layout": (
        "x = f(\n    1,  # one\n)\n",
        "f(…",
        "__node__.to(d)",
        "x = f(\n    1,  # one\n).to(d)\n",
    ),
    "brackets for an operator": ("x = a + b\n", "a + b", "__node__.to(d)", "x = (a + b).to(d)\n"),
    "brackets that are there go with it": ("x = (a + b)\n", "a + b", "__node__.to(d)", "x = (a + b).to(d)\n"),
    "brackets over lines go with it": ("x = (\n  a\n  + b\n)\n", "a\n  + b", "__node__.c", "x = (\n  a\n  + b\n).c\n"),
    "brackets that nothing needs stay": ("x = (a)\n", "a", "__node__.to(d)", "x = (a.to(d))\n"),
    "as an argument": ("x = a + b\n", "a + b", "f(__node__, c)", "x = f(a + b, c)\n"),
    "twice": ("x = a\n", "a", "(__node__, __node__)", "x = (a, a)\n"),
    "left of the same operator": ("x = a - b\n", "a - b", "__node__ - c", "x = a - b - c\n"),
    "right of the same operator": ("x = a - b\n", "a - b", "c - __node__", "x = c - (a - b)\n"),
    "under a stronger operator": ("x = a * b\n", "a", "__node__ + 1", "x = (a + 1) * b\n"),
    "under an attribute": ("x = a.b\n", "a", "__node__ or c", "x = (a or c).b\n"),
    "as a callee": ("x = a()\n", "a", "lambda: __node__", "x = (lambda: a)()\n"),
    "under a sign": ("x = -a ** 2\n", "a", "-__node__", "x = -(-a) ** 2\n"),
    "as an exponent": ("x = 2 ** a\n", "a", "-__node__", "x = 2 ** -a\n"),
    "under await": ("async def f():\n    await a\n", "a", "b or __node__", "async def f():\n    await (b or a)\n"),
    "a condition in a condition": (
        "x = a if b else c\n",
        "b",
        "d if __node__ else e",
        "x = a if (d if b else e) else c\n",
    ),
    "a condition as the last part of one": (
        "x = a if b else c\n",
        "c",
        "d if __node__ else e",
        "x = a if b else d if c else e\n",
    ),
    "a starred argument": ("f(*a)\n", "a", "b or __node__", "f(*(b or a))\n"),
    "a keyword argument": ("f(k=a)\n", "a", "__node__ if b else c", "f(k=a if b else c)\n"),
    "in a comparison": ("x = a < b\n", "b", "not __node__", "x = a < (not b)\n"),
    "in a comprehension": (
        "x = [i for i in a if b]\n",
        "a",
        "__node__ if c else d",
        "x = [i for i in (a if c else d) if b]\n",
    ),
    "a tuple in brackets": ("x = f((a, b))\n", "(a, b)", "g(__node__)", "x = f(g((a, b)))\n"),
    "a tuple in two pairs of brackets": ("x = ((a, b))\n", "(a, b)", "__node__[0]", "x = ((a, b)[0])\n"),
    "a bare tuple": ("x = a, b\n", "a, b", "g(__node__)", "x = g((a, b))\n"),
    "a bare tuple by another": ("return_ = a, b\n", "a, b", "c, d", "return_ = c, d\n"),
    "a name by a tuple": ("x = f(a)\n", "a", "c, d", "x = f((c, d))\n"),
    "an only generator": ("x = f(i for i in y)\n", "(i for i in y)", "g(__node__)", "x = f(g((i for i in y)))\n"),
    "an only generator, dropped": ("x = f(i for i in y)\n", "(i for i in y)", "z", "x = f(z)\n"),
    "an only generator over lines": (
        "x = f (\n    i for i in y\n)\n",
        "(\n…",
        "g(__node__)",
        "x = f (\n    g((i for i in y))\n)\n",
    ),
    "a generator in brackets": (
        "x = f((i for i in y), 1)\n",
        "(i for i in y)",
        "g(__node__)",
        "x = f(g((i for i in y)), 1)\n",
    ),
    "inside an only generator": ("x = f(i for i in y)\n", "y", "z.y", "x = f(i for i in z.y)\n"),
    "yield": ("def f():\n    x = yield a\n", "yield a", "__node__.b", "def f():\n    x = (yield a).b\n"),
    "a walrus": ("if (n := a):\n    b\n", "n := a", "__node__.c", "if (n := a).c:\n    b\n"),
    "an integer before a dot": ("x = 1\n", "1", "__node__.real", "x = (1).real\n"),
    "an integer under a dot": ("x = a.real\n", "a", "1", "x = (1).real\n"),
    "joined strings": ("x = 'a' \"b\"\n", "'a' \"b\"", "__node__.upper()", "x = 'a' \"b\".upper()\n"),
    "a decorator": ("@d\ndef f(): pass\n", "d", "__node__('cuda')", "@d('cuda')\ndef f(): pass\n"),
    "in a decorator": ("@d(a)\nclass C: pass\n", "a", "b", "@d(b)\nclass C: pass\n"),
    "a context manager": ("with a as b, c: pass\n", "a", "__node__(1)", "with a(1) as b, c: pass\n"),
    "a context manager in brackets": ("with (a as b, c): pass\n", "c", "__node__()", "with (a as b, c()): pass\n"),
    "a default": ("def f(x=a, *, y: b = 1): pass\n", "a", "c or d", "def f(x=c or d, *, y: b = 1): pass\n"),
    "an annotation": ("x: a = 1\n", "a", "b | c", "x: b | c = 1\n"),
    "an elif": ("if a: pass\nelif b: pass\n", "b", "not __node__", "if a: pass\nelif not b: pass\n"),
    "without a space before": ("if(a+b): pass\n", "a+b", "__node__.c", "if(a+b).c: pass\n"),
    "without a space after": ("x = (a+b)if c else d\n", "a+b", "__node__.c", "x = ((a+b).c)if c else d\n"),
    "a number before a word": ("x = 1if c else d\n", "1", "e", "x = (e)if c else d\n"),
    "in a subscript": ("x = a[b]\n", "b", "__node__.to(d)", "x = a[b.to(d)]\n"),
    "in one of several subscripts": ("x = a[b, c:d]\n", "b", "e", "x = a[e, c:d]\n"),
    "in a slice": ("x = a[b:c]\n", "c", "d or e", "x = a[b:d or e]\n"),
    "an f-string": ("x = f'{a}'\n", "f'{a}'", "g(__node__)", "x = g(f'{a}')\n"),
    "inside an f-string": ("x = f'{a:>{b}} c'\n", "a", "__node__.to(d)", "x = f'{a.to(d):>{b}} c'\n"),
    "a string inside an f-string": ('x = f"{a}"\n', "a", '__node__.to("d")', "x = f\"{a.to('d')}\"\n"),
    "a string inside an f-string of three quotes": (
        'x = f"""{a}"""\n',
        "a",
        '__node__.to("d")',
        'x = f"""{a.to("d")}"""\n',
    ),
    "a condition inside an f-string": ("x = f'{a}'\n", "a", "__node__ if b else c", "x = f'{(a if b else c)}'\n"),
    "a dict inside an f-string": ("x = f'{a}'\n", "a", "{1: __node__}[1]", "x = f'{({1: a}[1])}'\n"),
    "after wide characters": ("é = 'żó', '🚀', a + b\n", "a + b", "f(__node__)", "é = 'żó', '🚀', f(a + b)\n"),
    "the whole of a statement": ("a.b()\n", "a.b()", "c(__node__)", "c(a.b())\n"),
}


@pytest.mark.parametrize(("before", "expression", "code", "after"), CASES.values(), ids=CASES)
def test_replace(sheet, before, expression, code, after):
    file = sheet(before)
    assert file.edited(ReplaceExpression(file.expression(expression), code)) == after


def test_an_edit_inside_another_stays_inside_it(sheet):
    file = sheet("x = f(a + b)\n")
    edits = [
        ReplaceExpression(file.expression("f(a + b)"), "g(__node__)"),
        ReplaceExpression(file.expression("a + b"), "__node__.c"),
        ReplaceExpression(file.expression("a"), "__node__.to(d)"),
    ]
    assert file.edited(*edits) == file.edited(*reversed(edits)) == "x = g(f((a.to(d) + b).c))\n"


def test_the_brackets_of_an_edited_part_are_judged_after_its_edits(sheet):
    file = sheet("x = a + b\n")
    edits = [
        ReplaceExpression(file.expression("a + b"), "__node__.c"),
        ReplaceExpression(file.expression("b"), "c or __node__"),
    ]
    assert file.edited(*edits) == "x = (a + (c or b)).c\n"


def test_code_over_several_lines_takes_the_line_ends_of_the_file(sheet):
    file = sheet(b"x = a\r\n")
    assert file.edited_bytes(ReplaceExpression(file.expression("a"), "f(\n    1,\n)")) == b"x = f(\r\n    1,\r\n)\r\n"


@pytest.mark.parametrize("span", [Span(1, 0, 1, 3), Span(1, 5, 1, 6), Span(2, 0, 2, 1), Span(1, 4, 1, 8)])
def test_a_place_without_an_expression_is_refused(sheet, span):
    with pytest.raises(AnchorMissing):
        sheet("x = a + b\n").edited(ReplaceExpression(span, "c"))


def test_a_statement_is_no_expression(sheet):
    file = sheet("x = a\n")
    with pytest.raises(AnchorMissing):
        file.edited(ReplaceExpression(file.statement("x = a"), "c"))


@pytest.mark.parametrize("code", ["", "a b", "x = 1", "a\nb", "return"])
def test_code_that_is_no_expression_is_refused(sheet, code):
    file = sheet("x = a\n")
    with pytest.raises(InvalidCode):
        file.edited(ReplaceExpression(file.expression("a"), code))
