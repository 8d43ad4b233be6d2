import pytest
from devfix_codemods.edits.errors import AnchorMissing, EditConflict, InvalidCode
from devfix_codemods.edits.operations import Argument, ReplaceExpression, RewriteCall

A = Argument

# name: (before, function, arguments, after)
CASES = {
    "the callee only": ("f( a,b , k = 1 )", "m.g", None, "m.g( a,b , k = 1 )"),
    "the callee keeps comments in the list": ("f(\n    a,  # one\n)", "g", None, "g(\n    a,  # one\n)"),
    "a callee in brackets": ("(f)(a)", "g", None, "g(a)"),
    "a callee that needs brackets": ("f(a)", "g or h", None, "(g or h)(a)"),
    "arguments as they are": ("f( a,b , k = 1 )", None, (A(0), A(1), A(2, "k")), "f( a,b , k = 1 )"),
    "first of none": ("f()", None, (A("'cuda'"),), "f('cuda')"),
    "several of none": ("f()", None, (A("a"), A("b", "k")), "f(a, k=b)"),
    "in front": ("f(a)", None, (A("'cuda'"), A(0)), "f('cuda', a)"),
    "at the end": ("f(a, b)", None, (A(0), A(1), A("c", "k")), "f(a, b, k=c)"),
    "in the middle": ("f(a, b)", None, (A(0), A("c"), A(1)), "f(a, c, b)"),
    "a keyword for a place": (
        "f(False, a)",
        None,
        (A("'cuda'"), A(0, "enabled"), A(1, "dtype")),
        "f('cuda', enabled=False, dtype=a)",
    ),
    "another keyword": ("f(k = 1)", None, (A(0, "n"),), "f(n = 1)"),
    "no keyword": ("f(k=1)", None, (A(0),), "f(1)"),
    "fewer": ("f(a, b, c)", None, (A(0), A(2)), "f(a, c)"),
    "without the last": ("f(a, b)", None, (A(0),), "f(a)"),
    "without the first": ("f(a, b)", None, (A(1),), "f(b)"),
    "none left": ("f(\n    a,\n)", None, (), "f()"),
    "swapped": ("f(a, b)", None, (A(1), A(0)), "f(b, a)"),
    "stars stay": ("f(* a, ** b)", None, (A("c"), A(0), A(1)), "f(c, * a, ** b)"),
    "a trailing comma stays": ("f(a, b,)", None, (A(0), A(1), A("c")), "f(a, b, c,)"),
    "one a line, at the end": (
        "f(\n    a,\n    b,\n)",
        None,
        (A(0), A(1), A("c", "k")),
        "f(\n    a,\n    b,\n    k=c,\n)",
    ),
    "one a line, without a trailing comma": (
        "f(\n    a,\n    b  # two\n)",
        None,
        (A(0), A(1), A("c")),
        "f(\n    a,\n    b,  # two\n    c\n)",
    ),
    "one a line, in front": (
        "f(\n    a,  # one\n    b,  # two\n)",
        None,
        (A("c"), A(0), A(1)),
        "f(\n    c,\n    a,  # one\n    b,  # two\n)",
    ),
    "one a line, with one argument": ("f(\n    a,\n)", None, (A("c"), A(0)), "f(\n    c,\n    a,\n)"),
    "comments go with their arguments": (
        "f(\n    a,  # one\n    # above b\n    b,  # two\n    c,  # three\n)",
        None,
        (A(2), A(1), A(0)),
        "f(\n    c,  # three\n    # above b\n    b,  # two\n    a,  # one\n)",
    ),
    "the comment of an argument goes away with it": (
        "f(\n    a,  # one\n    b,  # two\n)",
        None,
        (A(0),),
        "f(\n    a,  # one\n)",
    ),
    "several a line": ("f(a,\n  b, c)", None, (A(0), A(1), A(2), A("d")), "f(a,\n  b, c, d)"),
    "aligned": ("f(a,\n  b)", None, (A(0), A(1), A("c")), "f(a,\n  b,\n  c)"),
    "an only generator gets brackets": ("f(i for i in y)", None, (A(0), A("c")), "f((i for i in y), c)"),
    "an only generator gets a keyword": ("f(i for i in y)", None, (A(0, "k"),), "f(k=(i for i in y))"),
    "an only generator stays": ("f(i for i in y)", "g", (A(0),), "g(i for i in y)"),
    "a walrus gets a keyword": ("f(n := 1)", None, (A(0, "k"),), "f(k=(n := 1))"),
    "new code that needs brackets": ("f()", None, (A("a, b"),), "f((a, b))"),
    "in a chain": ("a.f(b).g(c)", "a.h", None, "a.h(c)"),
}


@pytest.mark.parametrize(("before", "function", "arguments", "after"), CASES.values(), ids=CASES)
def test_rewrite(sheet, before, function, arguments, after):
    file = sheet(before + "\n")
    assert file.edited(RewriteCall(file.expression(before), function, arguments)) == after + "\n"


def test_a_decorator(sheet):
    file = sheet("@f()\ndef g(): pass\n")
    edit = RewriteCall(file.expression("f()"), "h", (A("'cuda'"),))
    assert file.edited(edit) == "@h('cuda')\ndef g(): pass\n"


def test_callee_and_arguments_of_two_fixes_go_together(sheet):
    file = sheet("f(a)\n")
    at = file.expression("f(a)")
    assert file.edited(RewriteCall(at, "g"), RewriteCall(at, None, (A(0), A("b")))) == "g(a, b)\n"


def test_edits_inside_and_around_a_call_go_together(sheet):
    file = sheet("x = f(a, b)\n")
    edits = [
        ReplaceExpression(file.expression("f(a, b)"), "__node__.to(d)"),
        RewriteCall(file.expression("f(a, b)"), "g", (A(1, "k"), A(0, "n"))),
        ReplaceExpression(file.expression("a"), "c if __node__ else e"),
    ]
    assert file.edited(*edits) == file.edited(*reversed(edits)) == "x = g(k=b, n=c if a else e).to(d)\n"


def test_an_edit_in_a_dropped_argument_is_a_conflict(sheet):
    file = sheet("f(a, b + c)\n")
    lost = ReplaceExpression(file.expression("c"), "d")
    with pytest.raises(EditConflict) as caught:
        file.edited(lost, RewriteCall(file.expression("f(a, b + c)"), None, (A(0),)))
    assert caught.value.second == lost


def test_an_edit_in_a_dropped_callee_is_a_conflict(sheet):
    file = sheet("a.f(b)\n")
    with pytest.raises(EditConflict):
        file.edited(ReplaceExpression(file.expression("a"), "d"), RewriteCall(file.expression("a.f(b)"), "g"))


def test_an_index_beyond_the_arguments_is_refused(sheet):
    file = sheet("f(a)\n")
    with pytest.raises(AnchorMissing):
        file.edited(RewriteCall(file.expression("f(a)"), None, (A(1),)))


def test_a_string_fits_the_f_string_around_the_call(sheet):
    file = sheet('x = f"{g(a)}"\n')
    edit = RewriteCall(file.expression("g(a)"), None, (A(0), A('"cuda"', "device")))
    assert file.edited(edit) == "x = f\"{g(a, device='cuda')}\"\n"


def test_what_is_no_call_is_refused(sheet):
    file = sheet("f(a)\n")
    with pytest.raises(AnchorMissing):
        file.edited(RewriteCall(file.expression("f"), "g"))


def test_an_argument_that_does_not_parse_is_refused(sheet):
    file = sheet("f(a)\n")
    with pytest.raises(InvalidCode):
        file.edited(RewriteCall(file.expression("f(a)"), None, (A("k=1"),)))


def test_another_method_of_the_same_receiver(sheet):
    text = "def f():\n    return (\n        a.b(\n            c.cuda(),\n        )\n        .cuda()  # why\n    )\n"
    file = sheet(text)
    outer = RewriteCall(file.expression("a.b(…", 2), None, (A("d"),), "to")
    inner = RewriteCall(file.expression("c.cuda()"), None, (A("d"),), "to")
    assert file.edited(outer, inner) == text.replace(".cuda()", ".to(d)")


def test_a_function_has_no_other_method(sheet):
    file = sheet("f(a)\n")
    with pytest.raises(AnchorMissing):
        file.edited(RewriteCall(file.expression("f(a)"), None, None, "to"))
