"""The engine with rules of its own, so that what it does is seen apart from what rules decide."""

import ast
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from devfix_codemods import engine
from devfix_codemods.edits.operations import (
    AddImport,
    Argument,
    Edit,
    InsertStatement,
    RemoveStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)
from devfix_codemods.engine import TextEdit, check, rewrite, text_edits
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.fixing import without_conflicts
from devfix_codemods.outcomes import Changed, Checked, Clean, Failed, Options, Skipped
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.source import Source, Span

Make = Callable[[Program, ast.Call], Fix | None]
ALL = Options(frozenset({"DVF101", "DVF102", "DVF103"}))
UNSAFE = Options(ALL.select, unsafe=True)


def _source(text: str | bytes) -> Source:
    return Source("a.py", text if isinstance(text, bytes) else text.encode())


def _calls(program: Program, name: str) -> list[ast.Call]:
    calls = (node for node in ast.walk(program.tree) if isinstance(node, ast.Call))
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == name]


def _rule(code: str, name: str, make: Make, advice: str | None = None) -> Rule:
    """A rule that finds the calls of `name`."""

    def findings(program: Program) -> Iterable[Finding]:
        for call in _calls(program, name):
            yield Finding(
                code, name, f"{name} is called", program.source.span(call), None, (), make(program, call), advice
            )

    return Rule(code, name, ((name.encode(),),), findings)


def _fix(*edits: Edit, safety: Safety = Safety.SAFE, since: tuple[int, int] | None = None) -> Fix:
    return Fix(safety, "repair it", edits, since)


def _renames(new: str, safety: Safety = Safety.SAFE, since: tuple[int, int] | None = None) -> Make:
    def make(program: Program, call: ast.Call) -> Fix:
        return _fix(ReplaceExpression(program.source.span(call.func), new), safety=safety, since=since)

    return make


def _nothing(program: Program, call: ast.Call) -> None:
    return None


@pytest.fixture
def rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def use(*chosen: Rule) -> None:
        monkeypatch.setattr(engine, "all_rules", lambda: chosen)

    return use


class TestCheck:
    def test_files_that_concern_no_rule_are_parsed_and_no_more(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        assert check(_source(b"import torch\nx = good()\n"), ALL) == Checked(())
        for data in (b"import torch\ny = = good()\n", b"y = = bad()\n"):
            assert isinstance(found := check(_source(data), ALL), Failed)
            assert found.reason.startswith("syntax error: invalid syntax (line ")

    def test_rules_that_are_not_selected_do_not_run(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        assert check(_source("import torch\nbad()\n"), Options(frozenset({"DVF102"}))) == Checked(())

    def test_findings_in_the_order_of_the_text(self, rules):
        rules(_rule("DVF102", "bad", _nothing), _rule("DVF101", "worse", _nothing))
        found = check(_source("import torch\nworse(bad())\nbad()\n"), ALL)
        assert isinstance(found, Checked)
        assert [(one.code, one.span.line, one.span.column) for one in found.findings] == [
            ("DVF101", 2, 0),
            ("DVF102", 2, 6),
            ("DVF102", 3, 0),
        ]

    @pytest.mark.parametrize(
        ("data", "reason"),
        [
            (b"import torch\nbad( = \n", "syntax error: invalid syntax (line 2)"),
            (b"import torch\nbad('\xff')\n", "not valid utf-8 at byte 18: invalid start byte"),
            (b"# coding: nonsense\nimport torch; bad()\n", "unknown encoding: nonsense"),
            (b"import torch\nbad(" + b"[" * 300 + b"]" * 300 + b")\n", "too many nested parentheses"),
            (b"import torch\nbad(" + b"-" * 200_000 + b"1)\n", "nested too deeply to be parsed"),
        ],
    )
    def test_files_that_are_no_python(self, rules, data, reason):
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source(data), ALL)
        assert isinstance(found, Failed)
        assert reason in found.reason
        assert not found.internal

    @pytest.mark.parametrize("part", ["{{ model }}.bad()", "{% if x %}\nbad()\n{% endif %}"])
    def test_templates_are_named_as_such(self, rules, part):
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source(f"import torch\n{part} bad()\n"), ALL)
        assert isinstance(found, Failed)
        assert found.reason.startswith("syntax error")
        assert found.reason.endswith("looks like a template, not like Python")

    @pytest.mark.parametrize(
        ("part", "since"),
        [
            ("def same[T](x: T) -> T:\n    return x", (3, 12)),
            ("name = f'{names['first']}'", (3, 12)),
            ("name = f'{names['first']} {{more}}'", (3, 12)),
            ("type Number = int", (3, 12)),
            ("text = t'{x}'", (3, 14)),
        ],
    )
    def test_newer_python_is_named_as_such(self, rules, part, since):
        if sys.version_info >= since:
            pytest.skip("this Python reads it")
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source(f"import torch\nbad()\n{part}\n"), ALL)
        assert isinstance(found, Failed)
        here = ".".join(map(str, sys.version_info[:2]))
        assert found.reason.endswith(f"; newer than Python {here}, which devfix runs on here")

    @pytest.mark.parametrize(
        "part",
        [
            *("print 'x'", "raise Bad, 'x'", "try:\n    bad()\nexcept Bad, error:\n    pass", "x = (", "<<<<<<< HEAD"),
            *('"""C:\\Users\\me"""', "x = '\\N{no such name}'", "x = b'\u00e9'"),
        ],
    )
    def test_older_python_and_mistakes_are_not(self, rules, part):
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source(f"import torch\nbad()\n{part}\n"), ALL)
        assert isinstance(found, Failed)
        assert "newer" not in found.reason

    def test_a_template_that_is_python_is_checked(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source("import torch\nx = '{{ y }}', {{bad()}}\n"), ALL)
        assert isinstance(found, Checked)
        assert len(found.findings) == 1

    def test_a_rule_that_fails(self, rules):
        def fail(program: Program, call: ast.Call) -> None:
            raise KeyError("x")

        rules(_rule("DVF101", "bad", fail))
        assert check(_source("import torch\nbad()\n"), ALL) == Failed("DVF101 bad raised KeyError: 'x'", internal=True)

    def test_deep_files_leave_rules_room(self, rules):
        def recurse(program: Program, call: ast.Call) -> None:
            ast.unparse(program.tree)

        rules(_rule("DVF101", "bad", recurse))
        found = check(_source("import torch\nbad(" + " + ".join("a" * 900) + ")\n"), ALL)
        assert isinstance(found, Checked)

    def test_skip_file(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        assert isinstance(check(_source("import torch\nbad()\n# devfix: skip-file\n"), ALL), Skipped)
        # whether it parses is then nobody's business
        assert isinstance(check(_source("# devfix: skip-file\nimport torch\nbad( = \n"), ALL), Skipped)

    def test_ignored_findings_are_counted(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source("import torch\nbad()  # devfix: ignore[DVF101]\nbad()\n"), ALL)
        assert isinstance(found, Checked)
        assert (len(found.findings), found.ignored) == (1, 1)

    def test_an_unused_ignore_in_a_file_that_concerns_no_rule(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        found = check(_source("x = 1  # devfix: ignore[DVF101]\n"), ALL)
        assert isinstance(found, Checked)
        assert [one.code for one in found.findings] == ["DVF001"]

    @pytest.mark.parametrize(
        ("target", "kept"), [(None, True), ((2, 4), True), ((2, 10), True), ((2, 3), False), ((1, 13), False)]
    )
    def test_fixes_for_a_later_torch_become_advice(self, rules, target, kept):
        rules(_rule("DVF101", "bad", _renames("good", since=(2, 4)), "Look at it."))
        found = check(_source("import torch\ngood = 1\nbad()\n"), Options(ALL.select, target_torch=target))
        assert isinstance(found, Checked)
        (finding,) = found.findings
        assert (finding.fix is not None) is kept
        if not kept:
            assert finding.advice.startswith("Look at it. The fix (repair it) needs torch 2.4; the target is torch ")


def test_defects_of_the_engine_itself_do_not_come_out(monkeypatch):
    monkeypatch.setattr(engine, "all_rules", lambda: None)
    assert check(_source("import torch\n"), ALL) == Failed(
        "TypeError: 'NoneType' object is not iterable", internal=True
    )

    monkeypatch.setattr(engine, "check", lambda source, options: 1 // 0)
    result = rewrite(_source("import torch\n"), ALL)
    assert isinstance(result, Failed)
    assert result.internal


NOT_BOUND = {
    "anywhere": "import torch\nbad()\n",
    "but in another function": "import torch\ndef f(good):\n    pass\ndef g():\n    bad()\n",
    "but in a function inside": "import torch\ndef g():\n    bad()\n    def f(good):\n        pass\n",
    "but in the class of the method": "import torch\nclass A:\n    good = 1\n    def f(self):\n        bad()\n",
    "but in a comprehension": "import torch\n[good for good in xs]\nbad()\n",
    "but in the function that has the default": "import torch\ndef f(x=bad()):\n    good = 1\n",
    "but in the function that is decorated": "import torch\n@bad()\ndef f(good):\n    pass\n",
    "but as an attribute": "import torch\nx.good = 1\nbad()\n",
}
BOUND = {
    "by a parameter": "import torch\ndef f(good):\n    bad()\n",
    "by parameters in stars": "import torch\ndef f(*rest, **good):\n    bad()\n",
    "by a lambda": "import torch\nf = lambda good: bad()\n",
    "by a function around": "import torch\ndef f(good):\n    def g():\n        bad()\n",
    "by the module, below": "import torch\ndef f():\n    bad()\ngood = 1\n",
    "in a branch": "import torch\nif x:\n    good = 1\nbad()\n",
    "by an import": "import torch\nimport good.part\nbad()\n",
    "by a relative import": "import torch\nfrom . import good\nbad()\n",
    "by a star": "import torch\nfrom m import *\nbad()\n",
    "by a global of a function": "import torch\ndef f():\n    global good\n    good = 1\nbad()\n",
    "by the comprehension": "import torch\n[bad() for good in xs]\n",
    "by a walrus in a comprehension": "import torch\n[1 for x in xs if (good := x)]\nbad()\n",
    "by the class": "import torch\nclass A:\n    good = 1\n    x = bad()\n",
    "by a loop": "import torch\nfor good in xs:\n    bad()\n",
    "by with": "import torch\nwith x as good:\n    bad()\n",
    "by except": "import torch\ntry:\n    pass\nexcept E as good:\n    bad()\n",
    "by a match": "import torch\nmatch x:\n    case [*good]:\n        bad()\n",
    "by something unseen, as the file reads it": "import torch\nuse(good)\ndef f():\n    bad()\n",
}


class TestNamesThatAFixWrites:
    @pytest.mark.parametrize("program", NOT_BOUND.values(), ids=NOT_BOUND)
    def test_not_bound_where_it_writes_them(self, rules, program):
        rules(_rule("DVF101", "bad", _renames("good"), "Look at it."))
        found = check(_source(program), ALL)
        assert isinstance(found, Checked)
        (finding,) = found.findings
        assert finding.fix is None
        assert finding.advice == "Look at it. The fix (repair it) needs `good`, bound at its place."
        assert rewrite(_source(program), ALL) == Clean(found.findings)

    @pytest.mark.parametrize("program", BOUND.values(), ids=BOUND)
    def test_bound_by_the_file(self, rules, program):
        rules(_rule("DVF101", "bad", _renames("good")))
        found = check(_source(program), ALL)
        assert isinstance(found, Checked)
        assert found.findings[0].fix is not None

    @pytest.mark.parametrize("code", ["print(1)", "__file__", "[x for x in [1]]", "(lambda x: x)(1)", "(x := 1) + x"])
    def test_bound_by_python_or_by_themselves(self, rules, code):
        rules(_rule("DVF101", "bad", lambda program, call: _fix(ReplaceExpression(program.source.span(call), code))))
        found = check(_source("import torch\nbad()\n"), ALL)
        assert isinstance(found, Checked)
        assert found.findings[0].fix is not None

    @pytest.mark.parametrize(("where", "kept"), [("import torch", True), ("def f", False), ("def g", True)])
    def test_bound_by_another_edit_of_the_fix(self, rules, where, kept):
        def make(program: Program, call: ast.Call) -> Fix:
            body = {one.name: one.body[0] for one in program.tree.body if isinstance(one, ast.FunctionDef)}
            anchor = body.get(where.removeprefix("def "), program.tree.body[0])
            declared = InsertStatement(program.source.span(anchor), "after", "good = 1")
            return _fix(declared, RewriteCall(program.source.span(call), None, (Argument("good", "x"),)))

        rules(_rule("DVF101", "bad", make))
        found = check(_source("import torch\ndef f():\n    pass\ndef g():\n    pass\n    bad()\n"), ALL)
        assert isinstance(found, Checked)
        assert (found.findings[0].fix is not None) is kept

    def test_in_a_notebook_all_cells_are_one_program(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        parts = ["import torch", "good = 1", "bad()"]
        cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": one} for one in parts]
        data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
        found = check(Source("a.ipynb", data), ALL)
        assert isinstance(found, Checked)
        assert found.findings[0].fix is not None


SETTER = "    def move(self):\n        self.device = 'cuda'\n"
CALLER = "    def run(self):\n        {}self.use()\n"
USER = "    def use(self):\n        {}bad()\n"
NOT_SET = {
    "by a method that need not have run": SETTER + USER.format(""),
    "by a statement below": "    def use(self):\n        bad()\n        self.device = 1\n        self.device.type\n",
    "by one of two callers": CALLER.format("self.device = 1\n        ")
    + "    def test(self):\n        self.use()\n"
    + USER.format(""),
    "by a method that the caller may have called": SETTER + CALLER.format("") + USER.format(""),
    "by the constructor, below its call": "    def __init__(self):\n        self.use()\n        self.device = 1\n"
    + USER.format(""),
    "by the statement of the constructor that calls it": "    def __init__(self):\n"
    "        self.device = make(\n            self.use(),\n        )\n" + USER.format(""),
    "by the constructor, below a property's use": "    def __init__(self):\n        size = self.use\n"
    "        self.device = size\n    @property\n" + USER.format(""),
}
SET = {
    "by the constructor, above its call": "    def __init__(self):\n        self.device = 1\n        self.use()\n"
    + USER.format(""),
    "by the constructor, twice": "    def __init__(self):\n        self.device = 1\n        self.use()\n"
    "        self.device = 2\n" + USER.format(""),
    "by the constructor": "    def __init__(self):\n        self.device = 1\n" + USER.format(""),
    "by what the constructor calls": "    def __init__(self):\n        self.move()\n" + SETTER + USER.format(""),
    "by a set-up method": "    def setUp(self):\n        self.device = 1\n" + USER.format(""),
    "by the body of the class": "    device = None\n" + SETTER + USER.format(""),
    "by a property": "    @property\n    def device(self):\n        return 1\n" + SETTER + USER.format(""),
    "by the same method": SETTER + USER.format("self.device = 1\n        "),
    "by all who call the method": CALLER.format("self.device = 1\n        ") + USER.format(""),
    "as the method reads it": SETTER + USER.format("print(self.device)\n        "),
    "as the method reads it below": SETTER + USER.format("") + "        print(self.device)\n",
    "as nothing says who does": USER.format(""),
    "by names that are not spelled out": SETTER + USER.format("setattr(self, key, value)\n        "),
}
BASES = {"": False, "(ABC)": False, "(nn.Module)": False, "(Own)": True, "(PreTrainedModel)": True, "(Unknown)": True}


def renamed(rules, code, text):
    """The one finding of a rule that writes `code` in the place of `bad` in the program `text`."""
    rules(_rule("DVF101", "bad", _renames(code)))
    found = check(_source(text), ALL)
    assert isinstance(found, Checked)
    return found.findings[0]


class TestAttributesThatAFixReads:
    def found(self, rules, body, base=""):
        own = "class Own:\n    def __init__(self):\n        self.device = 1\n"
        head = "import torch\nfrom abc import ABC\nfrom torch import nn\nfrom m import Unknown, PreTrainedModel\n"
        return renamed(rules, "self.device", f"{head}{own}class A{base}:\n{body}")

    @pytest.mark.parametrize("body", NOT_SET.values(), ids=NOT_SET)
    def test_not_surely_set_where_it_reads_them(self, rules, body):
        finding = self.found(rules, body)
        assert finding.fix is None
        assert "needs `self.device`, bound at its place." in finding.advice

    @pytest.mark.parametrize("body", SET.values(), ids=SET)
    def test_set(self, rules, body):
        assert self.found(rules, body).fix is not None

    @pytest.mark.parametrize(("base", "kept"), BASES.items())
    def test_set_by_a_base(self, rules, base, kept):
        assert (self.found(rules, NOT_SET["by a method that need not have run"], base).fix is not None) is kept


UNTOLD = {
    "denied": "if torch.is_tensor(x):\n        pass\n    else:\n        bad()",
    "denied first": "if not isinstance(x, torch.Tensor):\n        bad()",
    "denied by its type": "if type(x) is not torch.Tensor:\n        bad()",
    "denied by what it has": "y = x if hasattr(x, 'device') else bad()",
    "a number": "if isinstance(x, int):\n        bad()",
    "a number until the statement is over": "if isinstance(x, int):\n        x = bad()",
    "a scalar": "if np.isscalar(x):\n        bad()",
    "open": "if isinstance(x, torch.Tensor):\n        x = x[0]\n    bad()",
    "open, of a local name": "x = a[0]\n    n = x.size(0) if torch.is_tensor(x) else 1\n    bad()",
}
TOLD = {
    "asked": "if torch.is_tensor(x):\n        bad()",
    "asked by its type": "if type(x) == torch.Tensor:\n        bad()",
    "asked by what it has": "if hasattr(x, 'device'):\n        bad()",
    "others have left": "if not torch.is_tensor(x):\n        return x\n    bad()",
    "asked for something else": "if hasattr(x, 'name'):\n        pass\n    bad()",
    "a number before": "if isinstance(x, int):\n        x = a[0]\n        bad()",
    "a number before, at times": "if isinstance(x, int):\n        if a:\n            x = a[0]\n            bad()",
    "asked of another": "if torch.is_tensor(a):\n        pass\n    bad()",
    "asked of an older value": "if torch.is_tensor(x):\n        pass\n    x = a[0]\n    bad()",
    "read there already": "if torch.is_tensor(x):\n        pass\n    bad(x.device)",
}


class TestDevicesThatAFixReads:
    def found(self, rules, body):
        return renamed(rules, "x.device", f"import torch\ndef f(x, a):\n    {body}\n")

    @pytest.mark.parametrize("body", UNTOLD.values(), ids=UNTOLD)
    def test_of_what_may_be_no_tensor(self, rules, body):
        finding = self.found(rules, body)
        assert finding.fix is None
        assert "needs `x.device`, bound at its place." in finding.advice

    @pytest.mark.parametrize(("decorator", "kept"), [("", False), ("    @property\n", True)])
    def test_of_objects_that_give_it_when_they_are_called(self, rules, decorator, kept):
        own = f"class Sparse:\n{decorator}    def device(self):\n        return self.value.device\n"
        found = renamed(rules, "x.device", f"import torch\n{own}def f(x: Sparse):\n    x.rows()\n    bad()\n")
        assert (found.fix is not None) is kept

    @pytest.mark.parametrize("body", TOLD.values(), ids=TOLD)
    def test_of_tensors(self, rules, body):
        assert self.found(rules, body).fix is not None


PAIR = "def bad():\n    return 1, 2\n"
SEVERAL = {
    "unpacked": "a, b = bad()",
    "unpacked into attributes": "self.a, self.b = bad()",
    "unpacked into a list, and kept": "c = [a, b] = bad()",
    "unpacked in part": "a, *b = bad()",
    "unpacked by a loop": "for a, b in bad():\n    pass",
    "unpacked by a comprehension": "c = [a for a, b in bad()]",
    "unpacked by with": "with bad() as (a, b):\n    pass",
    "given by a function": f"{PAIR}a = bad()",
    "taken from what a function gives": f"{PAIR}a = bad()[0]",
}
ONE = {
    "kept": "a = bad()",
    "one of several": "a, b = bad(), 1",
    "a part of it unpacked": "a, b = bad()[0]",
    "looped over": "for a in bad():\n    pass",
    "given by a function that may give one": "def bad():\n    if x:\n        return 1, 2\n    return 1\na = bad()",
    "given by a function in a function": "def bad():\n    def g():\n        return 1, 2\n    return g\na = bad()",
    "one tensor": "from torch import from_numpy as bad\na, b = bad(x)",
}


class TestMovesOfSeveralValues:
    def found(self, rules, body, code):
        def make(program: Program, call: ast.Call) -> Fix:
            return _fix(ReplaceExpression(program.source.span(call), code))

        rules(_rule("DVF101", "bad", make))
        found = check(_source(f"import torch\n{body}\n"), ALL)
        assert isinstance(found, Checked)
        return found.findings[0]

    @pytest.mark.parametrize("code", ["__node__.to('cuda')", "__node__.cuda()"])
    @pytest.mark.parametrize("body", SEVERAL.values(), ids=SEVERAL)
    def test_of_what_gives_several(self, rules, body, code):
        finding = self.found(rules, body, code)
        assert finding.fix is None
        assert finding.advice == "The fix (repair it) moves one value, and `bad()` gives several."

    @pytest.mark.parametrize("body", ONE.values(), ids=ONE)
    def test_of_what_gives_one(self, rules, body):
        assert self.found(rules, body, "__node__.to('cuda')").fix is not None

    def test_what_is_unpacked_may_be_edited_otherwise(self, rules):
        assert self.found(rules, SEVERAL["unpacked"], "print(__node__)").fix is not None


class TestWhatRewriteLeaves:
    def test_files_without_findings(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        assert rewrite(_source("import torch\ngood()\n"), ALL) == Clean()

    @pytest.mark.parametrize("safety", [Safety.UNSAFE, Safety.MANUAL])
    def test_fixes_that_nobody_allowed(self, rules, safety):
        rules(_rule("DVF101", "bad", _renames("good", safety)))
        result = rewrite(_source("import torch\nbad()\n"), ALL)
        assert isinstance(result, Clean)
        assert len(result.left) == 1

    def test_manual_fixes_even_when_accepted(self, rules):
        rules(_rule("DVF101", "bad", _renames("good", Safety.MANUAL)))
        assert isinstance(rewrite(_source("import torch\nbad()\n"), UNSAFE, lambda finding: True), Clean)

    def test_findings_without_fix(self, rules):
        rules(_rule("DVF101", "bad", _nothing))
        assert isinstance(rewrite(_source("import torch\nbad()\n"), UNSAFE, lambda finding: True), Clean)

    def test_what_was_refused(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        assert isinstance(rewrite(_source("import torch\nbad()\n"), ALL, lambda finding: False), Clean)

    def test_ignored_findings(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        assert rewrite(_source("import torch\nbad()  # devfix: ignore\n"), ALL) == Clean()

    def test_fixes_for_a_later_torch(self, rules):
        rules(_rule("DVF101", "bad", _renames("good", since=(2, 4))))
        assert isinstance(rewrite(_source("import torch\nbad()\n"), Options(ALL.select, target_torch=(2, 0))), Clean)

    def test_files_that_cannot_be_checked(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        assert rewrite(_source("import torch\nbad( =\n"), ALL) == check(_source("import torch\nbad( =\n"), ALL)
        assert isinstance(rewrite(_source("import torch\nbad()  # devfix: skip-file\n"), ALL), Skipped)

    def test_files_that_are_too_deep_to_edit(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        result = rewrite(_source("import torch\ngood = 1\nbad(a" + ".b()" * 600 + ")\n"), ALL)
        assert result == Failed("nested too deeply to edit safely")


def _fails_on_arguments(program: Program, call: ast.Call) -> Fix:
    if call.args:
        raise ValueError(call.args)
    return _fix(ReplaceExpression(program.source.span(call), "bad(1)"))


BROKEN: dict[str, tuple[Make, str]] = {
    "no Python": (
        lambda program, call: _fix(ReplaceExpression(program.source.span(call), "__node__ if (yield) else 1")),
        "does not",
    ),
    "code that does not parse": (
        lambda program, call: _fix(ReplaceExpression(program.source.span(call), "a b")),
        "does not parse",
    ),
    "nowhere": (lambda program, call: _fix(ReplaceExpression(Span(9, 0, 9, 1), "bad")), "nothing to edit"),
    "no effect": (lambda program, call: _fix(AddImport("torch")), "nothing changes"),
    "no end": (lambda program, call: _fix(InsertStatement(Span(1, 0, 1, 12), "after", "x = 1")), "still there"),
    "what the rule fails on": (_fails_on_arguments, "the result cannot be checked: DVF101 bad raised ValueError"),
    "against itself": (
        lambda program, call: _fix(
            ReplaceExpression(program.source.span(call), "bad"), ReplaceExpression(program.source.span(call), "-bad")
        ),
        "exclude each other",
    ),
}


@pytest.mark.parametrize(("make", "problem"), BROKEN.values(), ids=BROKEN)
class TestFixesThatDoHarm:
    def test_alone_leave_the_file(self, rules, make, problem):
        rules(_rule("DVF101", "bad", make))
        result = rewrite(_source("import torch\nbad = 1\nbad()\n"), ALL)
        assert isinstance(result, Failed)
        assert result.internal
        assert result.reason.startswith("the fix of DVF101 in line 3 fails: ")
        assert problem in result.reason
        assert result.reason.endswith("left as it was; this is a devfix bug")

    def test_among_good_ones_are_left_out_and_marked(self, rules, make, problem):
        rules(_rule("DVF101", "bad", make, "Do it."), _rule("DVF102", "poor", _renames("good")))
        result = rewrite(_source("import torch\nbad = poor = good = 1\nbad()\npoor()\npoor()\n"), ALL)
        assert isinstance(result, Changed)
        assert result.data == b"import torch\nbad = poor = good = 1\nbad()\ngood()\ngood()\n"
        assert [one.code for one in result.fixed] == ["DVF102", "DVF102"]
        (left,) = result.left
        assert (left.code, left.fix) == ("DVF101", None)
        assert left.advice == "Do it. devfix has a fix but could not make it hold; this is a devfix bug."


class TestRewrite:
    def test_all_safe_fixes(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")), _rule("DVF102", "poor", _renames("fine", Safety.UNSAFE)))
        source = _source("import torch\nfrom m import bad, good, poor, fine\nbad(bad())\npoor()\n")
        result = rewrite(source, ALL)
        assert isinstance(result, Changed)
        assert result.data == b"import torch\nfrom m import bad, good, poor, fine\ngood(good())\npoor()\n"
        assert (len(result.fixed), [one.code for one in result.left]) == (2, ["DVF102"])

    def test_unsafe_ones_when_allowed(self, rules):
        rules(_rule("DVF101", "bad", _renames("good", Safety.UNSAFE)))
        result = rewrite(_source("import torch\nfrom m import bad, good\nbad()\n"), UNSAFE)
        assert isinstance(result, Changed)
        assert b"good()" in result.data

    def test_only_accepted_ones(self, rules):
        rules(_rule("DVF101", "bad", _renames("good", Safety.UNSAFE)))
        source = _source("import torch\nfrom m import bad, good\nbad()\nbad()\n")
        result = rewrite(source, ALL, lambda finding: finding.span.line == 4)
        assert isinstance(result, Changed)
        assert result.data == b"import torch\nfrom m import bad, good\nbad()\ngood()\n"
        assert [one.span.line for one in result.fixed] == [4]
        assert [one.span.line for one in result.left] == [3]

    def test_findings_that_are_left_have_their_new_places(self, rules):
        def insert(program: Program, call: ast.Call) -> Fix:
            at = program.source.span(program.names.statement(call))
            return _fix(ReplaceStatement(at, "good()\ngood()"))

        rules(_rule("DVF101", "bad", insert), _rule("DVF102", "poor", _nothing))
        result = rewrite(_source("import torch\nfrom m import bad, good, poor\nbad()\npoor()\n"), ALL)
        assert isinstance(result, Changed)
        assert [one.span.line for one in result.left] == [5]

    def test_fixes_that_others_expose(self, rules):
        rules(_rule("DVF101", "bad", _renames("poor")), _rule("DVF102", "poor", _renames("good")))
        source = _source("import torch\nfrom m import bad, poor, good\nbad()\n")
        result = rewrite(source, ALL)
        assert isinstance(result, Changed)
        assert result.data.endswith(b"\ngood()\n")
        assert [one.code for one in result.fixed] == ["DVF101", "DVF102"]

    def test_accepted_fixes_expose_no_others(self, rules):
        rules(_rule("DVF101", "bad", _renames("poor")), _rule("DVF102", "poor", _renames("good")))
        source = _source("import torch\nfrom m import bad, poor, good\nbad()\n")
        result = rewrite(source, ALL, lambda finding: True)
        assert isinstance(result, Changed)
        assert result.data.endswith(b"\npoor()\n")
        assert [one.code for one in result.left] == ["DVF102"]

    def test_fixes_that_undo_each_other(self, rules):
        rules(_rule("DVF101", "bad", _renames("poor")), _rule("DVF102", "poor", _renames("bad")))
        result = rewrite(_source("import torch\nfrom m import bad, poor\nbad()\n"), ALL)
        assert isinstance(result, Clean)
        (left,) = result.left
        assert (left.code, left.fix) == ("DVF101", None)
        assert "whose fix undoes it" in (left.advice or "")

    def test_fixes_that_undo_each_other_beside_one_that_holds(self, rules):
        rules(
            _rule("DVF101", "bad", _renames("poor")),
            _rule("DVF102", "poor", _renames("bad")),
            _rule("DVF103", "old", _renames("new")),
        )
        result = rewrite(_source("import torch\nfrom m import bad, new, old, poor\nbad()\nold()\n"), ALL)
        assert isinstance(result, Changed)
        assert result.data.endswith(b"bad()\nnew()\n")
        assert [one.code for one in result.fixed] == ["DVF103"]
        assert [(one.code, one.fix) for one in result.left] == [("DVF101", None)]
        assert rewrite(_source(result.data.decode()), ALL) == Clean(result.left)

    @pytest.mark.parametrize("name", ["bad", "poor"])
    def test_of_texts_that_lead_to_each_other_the_one_without_a_safe_fix_is_kept(self, rules, name):
        rules(_rule("DVF101", "bad", _renames("poor")), _rule("DVF102", "poor", _renames("bad", Safety.UNSAFE)))
        source = _source(f"import torch\nfrom m import bad, poor\n{name}()\n")
        result = rewrite(source, UNSAFE)
        assert isinstance(result, Changed | Clean)
        assert (result.data if isinstance(result, Changed) else source.data).endswith(b"poor()\n")
        assert [(one.code, one.fix) for one in result.left] == [("DVF102", None)]

    @pytest.mark.parametrize("origins", [1, 2])
    def test_findings_of_two_values_that_meet_in_one_place_and_say_the_same(self, rules, origins):
        """A fix of one may make the other surer: that is no finding of the first one."""

        def findings(program: Program) -> Iterable[Finding]:
            met, bad = _calls(program, "meet")[0], _calls(program, "bad")
            for index, call in enumerate(bad):
                trail = (Step(program.source.span(call), "made"),)
                safety = Safety.SUGGESTION if index else Safety.SAFE
                code = "good()" if origins == 2 else "bad(1)"
                fix = _fix(ReplaceExpression(program.source.span(call), code), safety=safety)
                yield Finding("DVF101", "bad", "they meet", program.source.span(met), None, trail, fix)

        rules(Rule("DVF101", "bad", ((b"bad",),), findings))
        made = "a = bad()\nb = bad()\n"[: 10 * origins]
        result = rewrite(_source(f"import torch\nfrom m import bad, good, meet\n{made}meet()\n"), ALL)
        assert isinstance(result, Failed if origins == 1 else Changed)
        assert not isinstance(result, Changed) or b"bad()" not in result.data

    @pytest.mark.parametrize(("edit", "holds"), [("poor(__node__)", False), ("good(__node__)", True)])
    def test_a_fix_that_makes_itself_necessary_again(self, rules, edit, holds):
        """It says another thing each time, so that what it says does not tell it."""

        def findings(program: Program) -> Iterable[Finding]:
            for call in _calls(program, "bad") + _calls(program, "poor"):
                span = program.source.span(call)
                if not isinstance(program.names.parent(call), ast.Call):
                    fix = _fix(ReplaceExpression(span, edit))
                    yield Finding("DVF101", "bad", f"`{ast.unparse(call)}` is called", span, None, (), fix)

        rules(Rule("DVF101", "bad", ((b"bad",),), findings))
        result = rewrite(_source("import torch\nfrom m import bad, good, poor\nbad()\n"), ALL)
        assert isinstance(result, Changed if holds else Failed)
        if isinstance(result, Failed):
            assert "its finding is still there afterwards" in result.reason

    def test_a_conflict_waits_for_the_next_pass(self, rules):
        def around(program: Program, call: ast.Call) -> Fix:
            return _fix(ReplaceExpression(program.source.span(call), "good(1)"))

        def argument(program: Program, call: ast.Call) -> Fix:
            return _fix(RemoveStatement(program.source.span(program.names.statement(call))))

        rules(_rule("DVF101", "bad", around), _rule("DVF102", "poor", argument))
        result = rewrite(_source("import torch\nfrom m import bad, poor, good\nbad(poor())\nbad()\n"), ALL)
        assert isinstance(result, Changed)
        assert result.data == b"import torch\nfrom m import bad, poor, good\ngood(1)\ngood(1)\n"
        assert [one.code for one in result.fixed] == ["DVF101", "DVF101"]

    def test_a_shared_edit_is_made_once(self, rules):
        def make(program: Program, call: ast.Call) -> Fix:
            return _fix(AddImport("os"), ReplaceExpression(program.source.span(call.func), "os.good"))

        rules(_rule("DVF101", "bad", make))
        result = rewrite(_source("import torch\nbad = 1\nbad()\nbad()\n"), ALL)
        assert isinstance(result, Changed)
        assert result.data == b"import torch\nimport os\nbad = 1\nos.good()\nos.good()\n"

    def test_bytes_stay(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        data = b"\xef\xbb\xbfimport torch\r\nfrom m import *  # \xc3\xa9\r\nbad( 1 )"
        result = rewrite(_source(data), ALL)
        assert isinstance(result, Changed)
        assert result.data == data.replace(b"bad", b"good")

    def test_a_second_time_changes_nothing(self, rules):
        rules(_rule("DVF101", "bad", _renames("good")))
        result = rewrite(_source("import torch\nfrom m import *\nbad()\n"), ALL)
        assert isinstance(result, Changed)
        assert rewrite(_source(result.data), ALL) == Clean()


class TestTiers:
    """Suggestions, and the least confidence that is asked for."""

    asked = Options(ALL.select, suggestions=True)

    def _rule(self, code: str, name: str, new: str, safety: Safety, confidence: float = 1.0) -> Rule:
        plain = _rule(code, name, _renames(new, safety))
        return replace(
            plain, check=lambda program: [replace(one, confidence=confidence) for one in plain.check(program)]
        )

    def test_suggestions_are_found_where_they_are_asked_for(self, rules):
        rules(self._rule("DVF101", "bad", "good", Safety.SUGGESTION, 0.6))
        source = _source("import torch\nbad()\n")
        assert check(source, ALL) == check(source, UNSAFE) == Checked(())
        assert [one.confidence for one in _found(source, self.asked)] == [0.6]

    @pytest.mark.parametrize("safety", Safety)
    def test_doubtful_findings_of_any_tier_are_left_out(self, rules, safety):
        rules(self._rule("DVF101", "bad", "good", safety, 0.844))
        source = _source("import torch\nfrom m import bad, good\nbad()\n")
        for least, shown in ((0.0, 1), (0.84, 1), (0.85, 0), (1.0, 0)):
            options = replace(UNSAFE, suggestions=True, min_confidence=least)
            assert len(_found(source, options)) == shown
            assert isinstance(rewrite(source, options, lambda _: True), Changed) == (shown and safety != "manual")

    def test_only_certainty_is_one(self, rules):
        rules(self._rule("DVF101", "bad", "good", Safety.SAFE, 0.9999), self._rule("DVF102", "poor", "", Safety.MANUAL))
        found = _found(_source("import torch\nbad()\npoor()\n"), replace(ALL, min_confidence=1.0))
        assert [one.code for one in found] == ["DVF102"]

    def test_what_cannot_be_had_is_not_told_unasked(self, rules):
        later = _rule("DVF102", "poor", _renames("good", Safety.SUGGESTION, since=(2, 4)))
        rules(_rule("DVF101", "bad", _renames("unbound_name", Safety.SUGGESTION)), later)
        source = _source("import torch\nbad()\npoor()\n")
        assert check(source, replace(ALL, target_torch=(2, 0))) == Checked(())
        assert all(one.fix is None for one in _found(source, replace(self.asked, target_torch=(2, 0))))

    def test_a_comment_that_silences_what_is_hidden_has_its_use(self, rules):
        rules(self._rule("DVF101", "bad", "good", Safety.SUGGESTION, 0.6))
        for comment in ("ignore[DVF101]", "ignore"):
            source = _source(f"import torch\nbad()  # devfix: {comment}\n")
            assert check(source, ALL) == check(source, replace(self.asked, min_confidence=0.7)) == Checked(())
            assert check(source, self.asked) == Checked((), ignored=1)
        unused = _source("import torch\nbad\nbad()\ngood()  # devfix: ignore[DVF101]\n")
        assert [one.code for one in _found(unused, ALL)] == ["DVF001"]

    def test_suggestions_are_applied_only_where_somebody_accepts_them(self, rules):
        rules(self._rule("DVF101", "bad", "good", Safety.SUGGESTION), self._rule("DVF102", "poor", "fine", Safety.SAFE))
        source = _source("import torch\nfrom m import bad, good, poor, fine\nbad()\npoor()\n")
        for options, left in ((UNSAFE, 0), (replace(UNSAFE, suggestions=True), 1)):
            result = rewrite(source, options)
            assert isinstance(result, Changed)
            assert result.data.endswith(b"\nbad()\nfine()\n")
            assert len(result.left) == left
        accepted = rewrite(source, self.asked, lambda finding: finding.is_suggestion)
        assert isinstance(accepted, Changed)
        assert accepted.data.endswith(b"\ngood()\npoor()\n")
        assert isinstance(rewrite(source, ALL, lambda finding: finding.is_suggestion), Clean)

    def test_suggestions_that_fixes_expose_are_no_reason_to_go_on(self, rules):
        rules(
            self._rule("DVF101", "bad", "poor", Safety.SAFE),
            self._rule("DVF102", "poor", "bad", Safety.SUGGESTION, 0.5),
        )
        result = rewrite(_source("import torch\nfrom m import bad, poor\nbad()\n"), self.asked)
        assert isinstance(result, Changed)
        assert ([one.code for one in result.fixed], [one.code for one in result.left]) == (["DVF101"], ["DVF102"])

    def test_a_suggestion_that_says_the_same_is_another_finding(self, rules):
        both = [_rule("DVF101", "bad", _renames("poor")), _rule("DVF101", "poor", _renames("good", Safety.SUGGESTION))]
        told = [replace(one, check=lambda program, of=one: _as_one(of.check(program))) for one in both]
        rules(Rule("DVF101", "bad", ((b"",),), lambda program: [*told[0].check(program), *told[1].check(program)]))
        source = _source("import torch\nfrom m import bad, poor, good\nbad()\n")
        for options in (ALL, self.asked):
            result = rewrite(source, options)
            assert isinstance(result, Changed)
            assert result.data.endswith(b"\npoor()\n")
        harmful = rewrite(_source("import torch\nbad = poor = good = 1\npoor()\n"), self.asked, lambda _: True)
        assert isinstance(harmful, Changed)

    def test_a_suggestion_that_is_still_there_does_not_hold(self, rules):
        rules(self._rule("DVF101", "bad", "(bad)", Safety.SUGGESTION))
        result = rewrite(_source("import torch\nbad = 1\nbad()\n"), self.asked, lambda _: True)
        assert isinstance(result, Failed)
        assert "its finding is still there afterwards" in result.reason

    @pytest.mark.parametrize("confidence", [1.01, -0.1, float("nan")])
    def test_a_confidence_is_a_probability(self, rules, confidence):
        rules(self._rule("DVF101", "bad", "good", Safety.SAFE, confidence))
        result = check(_source("import torch\nbad()\n"), ALL)
        assert isinstance(result, Failed)
        assert "which is not from 0 to 1" in result.reason


def _found(source: Source, options: Options) -> tuple[Finding, ...]:
    outcome = check(source, options)
    assert isinstance(outcome, Checked)
    return outcome.findings


def _as_one(findings: Iterable[Finding]) -> list[Finding]:
    return [replace(one, name="bad", message="it is called") for one in findings]


class TestTextEdits:
    def _edits(self, text: str, *edits: Edit) -> list[TextEdit]:
        return text_edits(_source(text), _fix(*edits))

    def test_nothing_where_nothing_changes(self):
        assert self._edits("import torch\n", AddImport("torch")) == []

    def test_nothing_where_it_cannot_be_applied(self):
        assert self._edits("import torch\n", ReplaceExpression(Span(7, 0, 7, 1), "a")) == []

    def test_a_line(self):
        found = self._edits("a\nf(b)\nc\n", ReplaceExpression(Span(2, 2, 2, 3), "d"))
        assert found == [TextEdit(Span(2, 0, 3, 0), "f(d)\n")]

    def test_the_last_line_without_its_end(self):
        found = self._edits("a\nf(b)", ReplaceExpression(Span(2, 2, 2, 3), "d"))
        assert found == [TextEdit(Span(2, 0, 2, 4), "f(d)")]

    def test_new_lines(self):
        found = self._edits("a\r\nb\r\n", InsertStatement(Span(1, 0, 1, 1), "after", "n()"))
        assert found == [TextEdit(Span(2, 0, 2, 0), "n()\r\n")]

    def test_a_line_less(self):
        assert self._edits("a\nb\nc\n", RemoveStatement(Span(2, 0, 2, 1))) == [TextEdit(Span(2, 0, 3, 0), "")]

    def test_several_places(self):
        text = "import a\n" + "x = 1\n" * 5 + "f(b)\n"
        found = self._edits(text, AddImport("torch"), ReplaceExpression(Span(7, 2, 7, 3), "d"))
        assert found == [TextEdit(Span(2, 0, 2, 0), "import torch\n"), TextEdit(Span(7, 0, 8, 0), "f(d)\n")]


SPELLED = """
import torch
def metrics(model, loader):
    for user, item in loader:
        user = user.cuda()
        item = item.cuda()
        scores = model(user, item)
        print(torch.take(item, scores.argmax(1)){copied}.numpy())
"""


@pytest.mark.parametrize(("copied", "codes"), [("", {"DVF402", "DVF501"}), (".cpu()", {"DVF501"})])
def test_a_device_that_is_spelled_otherwise_is_no_other_place(copied: str, codes: set[str]) -> None:
    found = check(_source(SPELLED.format(copied=copied)), Options(frozenset({"DVF402", "DVF501"})))
    assert isinstance(found, Checked)
    assert {one.code for one in found.findings} == codes


@pytest.mark.parametrize(("device", "codes"), [('"cuda"', ["DVF501"]), ("y.device", ["DVF104", "DVF501"])])
def test_a_fix_waits_for_the_move_that_it_copies(device: str, codes: list[str]) -> None:
    source = Source("train.py", b'x = zeros(3)\ny = y.to("cuda")\n')
    made, moved = Span(1, 4, 1, 12), Span(2, 4, 2, 16)
    copying = _fix(ReplaceExpression(made, f"__node__.to({device})"))
    spelling = _fix(ReplaceExpression(moved, "y.to(device)"))
    findings = [
        Finding("DVF104", "factory-without-device", "", made, trail=(Step(moved, "moved here"),), fix=copying),
        Finding("DVF501", "hard-coded-cuda", "", moved, fix=spelling),
    ]
    assert [one.code for one in without_conflicts(source, findings)[1]] == codes
