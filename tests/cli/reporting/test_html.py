"""The page by its structure: what it holds, that it holds together, and that nothing of the code is markup in it."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from devfix.project.settings import Choice
from devfix.reporting.html import page
from devfix.reporting.report import FixVerdict, Report, Verdict
from devfix.results import Cell, Checked, Failed, Note, Problem, Repair, Replacement, Result, Rewritten, Target
from devfix_codemods.notebooks.notebook import read
from devfix_codemods.source import Span
from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..conftest import BUGGY, FIXED, Devfix
from ..test_notebooks import small
from .hostile import NAMES, PAYLOADS

EDIT = Repair("safe", "Say `right`", (Replacement(Span(3, 4, 3, 9), "right"),))
SINK = Span(3, 4, 3, 17)


def target(name: str = "a.py", text: str = BUGGY) -> Target:
    return Target(f"/x/{name}", name, content=text.encode())


def problem(**more: object) -> Problem:
    usual: dict[str, object] = {"code": "DVF101", "name": "batch-not-moved", "message": "`x` is here", "span": SINK}
    return Problem(**{**usual, "repair": EDIT, **more})  # type: ignore[arg-type]


def checked(*problems: Problem, name: str = "a.py", text: str = BUGGY) -> Checked:
    return Checked(target(name, text), problems)


def parsed(*results: Result, **more: object) -> LexborHTMLParser:
    return LexborHTMLParser(page.document(Report(results, more.pop("errors", ()), **more)))  # type: ignore[arg-type]


def texts(tree: LexborHTMLParser | LexborNode, selector: str) -> list[str]:
    return [re.sub(r"\s+", " ", node.text()).strip() for node in tree.css(selector)]


class TestHostile:
    """First what must not happen."""

    @pytest.mark.parametrize("payload", PAYLOADS)
    def test_text_adds_no_element_and_no_attribute(self, payload: str) -> None:
        harmless = self._shape("harmless")
        assert self._shape(payload) == harmless

    def _shape(self, text: str) -> list[tuple[str, tuple[str, ...]]]:
        line = text.replace("\n", " ").replace("\x00", " ").replace("`", "'")
        code = f"import torch\nloader = 1\nx = wrong(1)  # {line}\n"
        result = checked(
            problem(
                message=line,
                name=line,
                trail=(Note(Span(1, 0, 1, 6), line), Note(Span(1, 0, 1, 1), line, f"/{line}")),
                repair=Repair("safe", line, EDIT.edits),
            ),
            problem(repair=None, advice=line),
            name=f"{line.replace('/', '|')}/a.py",
            text=code,
        )
        verdict = Verdict(
            result.target.path, "confirmed", (line,), (FixVerdict("DVF101", line, SINK, "refuted", line),)
        )
        errors = [Failed(target(line), line)]
        choice = Choice(target_torch=(2, 4), declared_by=line)
        tree = parsed(result, errors=errors, verdicts=(verdict,), choices=frozenset({choice}))
        body = tree.body
        assert body is not None
        return [(node.tag, tuple(sorted(node.attributes))) for node in body.css("*") if node.tag not in ("span", "wbr")]

    @pytest.mark.usefixtures("library")
    @pytest.mark.parametrize("name", NAMES)
    def test_names_of_files_are_text(self, tree: Path, devfix: Devfix, name: str) -> None:
        path = tree / name.replace("{slash}", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BUGGY)
        assert devfix("report").code == 1
        found = LexborHTMLParser((tree / "devfix-report.html").read_bytes().decode("ascii"))
        assert len(found.css("script")) == 1
        assert not found.css("img, a[href^=javascript], [onmouseover]")
        (shown,) = [node.text() for node in found.css(".file .path")]
        assert len(shown) == len(str(path.relative_to(tree)))
        assert not set("\u202e\n\x1b\udcff") & set(shown)

    @pytest.mark.parametrize("code", ["x = 1 <img> wrong(y)", "x = a <b & c> wrong(d)", "<script>wrong(1)</script>"])
    def test_code_is_text(self, code: str) -> None:
        at = code.index("wrong")
        repair = Repair("safe", "Say", (Replacement(Span(1, at, 1, at + 5), "right"),))
        span = Span(1, at, 1, at + 8)
        tree = parsed(checked(problem(span=span, trail=(Note(span, ""),), repair=repair), text=code))
        assert [node.text() for node in tree.css(".trail code, .edit del")] == [code, code]

    def test_what_hides_or_turns_text_is_replaced_everywhere(self) -> None:
        bad = "a\u202e\u2066\u200b\x07\x1b\x00\udcffz"
        tree = parsed(
            checked(
                problem(message=bad, name=bad, trail=(Note(SINK, bad, "/" + bad.replace("\x00", "")),)),
                problem(repair=None, advice=bad),
                name=f"{bad}/{bad}.py",
                text=f"import torch\n# {bad[:-2]}\nx = wrong(loader)\n",
            ),
            errors=[Failed(target(bad), bad)],
            verdicts=(Verdict(f"/x/{bad}/{bad}.py", bad, (bad,), (FixVerdict("DVF101", bad, SINK, bad, bad),)),),
            choices=frozenset({Choice(target_torch=(2, 4), declared_by=bad)}),
        )
        everything = tree.html or ""
        assert everything.count("a\ufffd\ufffd") >= 15
        assert not {letter for letter in bad if letter not in "az"} & set(everything)

    def test_only_the_page_itself_may_do_anything(self) -> None:
        tree = parsed(checked(problem()))
        policy = tree.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"] or ""
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert rules["default-src"] == "'none'"
        assert {rules["script-src"].split("-")[0], rules["style-src"].split("-")[0]} == {"'sha256"}
        assert "unsafe" not in policy
        attributes = {name for node in tree.css("*") for name in node.attributes}
        assert not {name for name in attributes if name.startswith("on")} | attributes & {"style", "src", "srcset"}
        assert all((node.attributes["href"] or "").startswith("#") for node in tree.css("[href]"))


class TestStructure:
    def test_ids_are_unique_and_what_is_named_is_there(self) -> None:
        tree = parsed(checked(problem(), problem()), checked(problem(code="DVF201"), name="b.py"))
        ids = [node.attributes["id"] for node in tree.css("[id]")]
        assert len(ids) == len(set(ids))
        named = {node.attributes["aria-labelledby"] for node in tree.css("[aria-labelledby]")}
        linked = {(node.attributes["href"] or "")[1:] for node in tree.css("a[href]")}
        assert named | linked <= set(ids)
        assert {"rule-DVF101", "rule-DVF201"} <= linked

    def test_headings_go_down_one_level_at_a_time(self) -> None:
        tree = parsed(checked(problem()), errors=[Failed(target("b.py"), "no")])
        levels = [int(node.tag[1]) for node in tree.css("h1, h2, h3, h4, h5, h6")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(later <= earlier + 1 for earlier, later in pairwise(levels))

    def test_every_control_has_a_name(self) -> None:
        tree = parsed(checked(problem()))
        assert all(box.css_matches("label input") for box in tree.css("input"))
        assert all(button.text().strip() for button in tree.css("button"))
        assert all(group.css_first("legend") is not None for group in tree.css("fieldset"))

    def test_a_run_that_found_nothing(self) -> None:
        tree = parsed(checked())
        assert texts(tree, "h1") == ["No device bugs found"]
        assert not tree.css(".finding, .facet, .rules")

    def test_counts(self) -> None:
        unsafe = Repair("unsafe", "Say `right`", EDIT.edits)
        tree = parsed(
            checked(problem(), problem(code="DVF201", repair=unsafe), name="one/a.py"),
            checked(problem(), problem(repair=None, advice="Think"), name="two/b.py"),
            checked(name="c.py"),
            errors=[Failed(target("d.py"), "a syntax error")],
            choices=frozenset({Choice(target_torch=(2, 4), declared_by="setup.py")}),
            known=7,
        )
        numbers = dict(zip(texts(tree, ".numbers dt"), texts(tree, ".numbers dd")))
        assert numbers == {
            "files checked": "3",
            "safe fixes": "2",
            "unsafe fixes": "1",
            "by hand": "1",
            "errors": "1",
            "in the baseline": "7",
            "oldest torch": "2.4 (setup.py)",
        }
        assert texts(tree, "h1") == ["4 bugs in 2 files"]
        options = {
            node.attributes["value"]: int(node.parent.css_first(".count").text())  # type: ignore[union-attr]
            for node in tree.css(".option input")
        }
        assert options == {"DVF101": 3, "DVF201": 1, "one": 2, "two": 2, "safe": 2, "unsafe": 1, "by hand": 1}
        assert texts(tree, ".errors li") == ["d.py a syntax error"]

    def test_many_folders_are_counted_by_those_above_them(self) -> None:
        results = [checked(problem(), name=f"top{n % 3}/inner{n}/a.py") for n in range(30)]
        tree = parsed(*results)
        values = [node.attributes["value"] for node in tree.css("input[name=folder]")]
        assert values == ["top0", "top1", "top2"]
        assert {node.attributes["data-folder"] for node in tree.css(".file")} == set(values)

    def test_what_folders_share_is_said_once(self) -> None:
        tree = parsed(*(checked(problem(), name=f"src/lib/{name}/a.py") for name in ("one", "two/three")))
        assert texts(tree, "legend")[1] == "Folder in src/lib"
        assert texts(tree, "fieldset:has(input[name=folder]) .value") == ["one", "two/three"]
        assert [node.attributes["value"] for node in tree.css("input[name=folder]")] == [
            "src/lib/one",
            "src/lib/two/three",
        ]


class TestFinding:
    def test_what_is_told(self) -> None:
        trail = (Note(Span(2, 0, 2, 6), "`loader` comes from here"), Note(SINK, "it meets `model` here"))
        tree = parsed(checked(problem(trail=trail)))
        (finding,) = tree.css(".finding")
        assert texts(finding, "h4") == ["3:5 DVF101 batch-not-moved"]
        assert texts(finding, ".message") == ["x is here"]
        assert texts(finding, ".message code") == ["x"]
        assert texts(finding, ".trail li") == [
            "2:1 loader comes from here loader = 1",
            "3:5 it meets model here x = wrong(loader)",
        ]
        assert texts(finding, ".trail mark") == ["loader", "wrong(loader)"]
        assert texts(finding, ".trail .sink .place") == ["3:5"]
        assert texts(finding, ".remedy") == ["Fix Say right"]
        assert texts(finding, ".badge") == ["safe"]

    def test_the_change_is_side_by_side(self) -> None:
        tree = parsed(checked(problem()))
        (edit,) = tree.css(".edit")
        assert [(node.tag, node.text()) for node in edit.iter()] == [
            ("i", "3"),
            ("del", "x = wrong(loader)"),
            ("i", "3"),
            ("ins", "x = right(loader)"),
        ]
        assert texts(edit, "mark") == ["wrong", "right"]
        same = tree.css_first(".same")
        assert texts(same, "code") == ["import torch", "import torch", "loader = 1", "loader = 1"]

    def test_a_line_that_comes_has_nothing_beside_it(self) -> None:
        repair = Repair("safe", "Move", (Replacement(Span(3, 0, 3, 0), "y = 1\n"),))
        (edit,) = parsed(checked(problem(repair=repair))).css(".edit")
        assert [(node.tag, node.attributes.get("class"), node.text()) for node in edit.iter()] == [
            ("i", "no", ""),
            ("i", "no", ""),
            ("i", None, "3"),
            ("ins", None, "y = 1"),
        ]

    def test_code_has_its_colours(self) -> None:
        text = 'import torch\nloader = "text"  # why\nx = wrong(loader)\n'
        tree = parsed(checked(problem(), text=text))
        (line,) = [node for node in tree.css(".same code") if node.text().startswith("loader")][:1]
        assert [(node.attributes["class"], node.text()) for node in line.css("span")] == [
            ("s", '"text"'),
            ("c", "# why"),
        ]

    def test_a_text_that_begins_far_above_is_no_code(self) -> None:
        lines = ["import torch", 'x = """', *["if for while"] * 20, '"""', "x = wrong(loader)"]
        at = len(lines)
        sink = Span(at, 4, at, 17)
        repair = Repair("safe", "Say", (Replacement(Span(at, 4, at, 9), "right"),))
        tree = parsed(checked(problem(span=sink, repair=repair), text="\n".join(lines)))
        before = [node for node in tree.css(".same code") if "for" in node.text()]
        assert before
        assert not [node for line in before for node in line.css(".k")]

    def test_the_indentation_that_all_lines_share_stands_apart(self) -> None:
        text = "import torch\nif x:\n\n    if y:\n        x = wrong(loader)\n"
        repair = Repair("safe", "Say", (Replacement(Span(5, 12, 5, 17), "right"),))
        tree = parsed(checked(problem(span=Span(5, 12, 5, 25), repair=repair), text=text))
        assert [node.text() for node in tree.css(".edit del, .edit ins")] == [
            "        x = wrong(loader)",
            "        x = right(loader)",
        ]

    def test_advice_where_there_is_no_fix(self) -> None:
        tree = parsed(checked(problem(repair=None, advice="Think about `it`")))
        assert texts(tree, ".remedy") == ["By hand Think about it"]
        assert texts(tree, ".trail code") == ["x = wrong(loader)"]
        assert not tree.css(".diff")

    def test_a_file_that_shrank_meanwhile(self) -> None:
        tree = parsed(checked(problem(span=Span(90, 0, 90, 3), repair=None, advice="Think"), text="import torch\n"))
        assert texts(tree, ".trail .place") == ["90:1"]
        assert not tree.css(".trail code")

    def test_a_file_that_is_gone(self, tmp_path: Path) -> None:
        gone = Target(str(tmp_path / "gone.py"), "gone.py")
        tree = parsed(Checked(gone, (problem(),)))
        assert texts(tree, ".finding h4") == ["3:5 DVF101 batch-not-moved"]
        assert not tree.css(".diff")

    def test_a_long_line_is_cut_around_what_matters(self) -> None:
        line = f"x = [{'1, ' * 1000}wrong(1), {'2, ' * 1000}]"
        at = line.index("wrong")
        repair = Repair("safe", "Say", (Replacement(Span(1, at, 1, at + 5), "right"),))
        tree = parsed(checked(problem(span=Span(1, at, 1, at + 8), repair=repair), text=line))
        shown = tree.css_first(".edit ins").text()
        assert len(shown) < 500
        assert (shown[0], shown[-1]) == ("…", "…")
        assert "right(1)" in shown

    def test_the_page_of_the_rule_is_there(self) -> None:
        tree = parsed(checked(problem()))
        (article,) = tree.css("#rule-DVF101")
        assert texts(article, "h4") == [
            "What it does",
            "Why it fails",
            "Before",
            "After",
            "Fix safety",
            "Since torch",
        ]
        assert article.css("pre .k")
        assert not article.css("a")


class TestNotebook:
    def test_lines_are_those_of_the_cells(self) -> None:
        data = small("import torch\nloader = 1", "# %%\n%time x\nx = wrong(loader)", "y = 1")
        line = read("a.ipynb", data).parts[1].first + 2
        repair = Repair("safe", "Say", (Replacement(Span(line, 0, line, 9), "y = 2\nx = right"),))
        cells = (Cell(2, line - 2),)
        found = problem(span=Span(line, 4, line, 17), repair=repair, cells=cells)
        tree = parsed(Checked(Target("/x/a.ipynb", "a.ipynb", content=data), (found,)))
        assert texts(tree, "h4 .place") == ["cell 2:3:5"]
        assert texts(tree, ".diff .cell") == ["cell 2"]
        assert texts(tree, ".diff i:not(.no)") == ["1", "1", "2", "2", "3", "3", "4"]
        assert texts(tree, ".edit ins") == ["y = 2", "x = right(loader)"]

    def test_magics_are_shown_as_they_are_written(self) -> None:
        data = small("import torch\nif x:\n    %time x\n    x = wrong(loader)\n    !ls")
        line = read("a.ipynb", data).parts[0].first + 3
        repair = Repair("safe", "Say", (Replacement(Span(line, 8, line, 13), "right"),))
        found = problem(span=Span(line, 8, line, 21), repair=repair, cells=(Cell(1, line - 3),))
        tree = parsed(Checked(Target("/x/a.ipynb", "a.ipynb", content=data), (found,)))
        assert [node.text() for node in tree.css(".same code")][4::2] == ["    %time x", "    !ls"]

    def test_a_fix_in_two_cells(self) -> None:
        data = small("import torch", "x = wrong(loader)")
        first, second = (part.first for part in read("a.ipynb", data).parts)
        edits = (
            Replacement(Span(first, 0, first, 0), "import os\n"),
            Replacement(Span(second, 4, second, 9), "right"),
        )
        found = problem(span=Span(second, 4, second, 17), repair=Repair("safe", "Say", edits), cells=(Cell(2, second),))
        tree = parsed(Checked(Target("/x/a.ipynb", "a.ipynb", content=data), (found,)))
        assert texts(tree, ".diff .cell") == ["cell 1", "cell 2"]
        assert texts(tree, ".diff i:not(.no)") == ["1", "1", "2", "1", "1"]


class TestVerdicts:
    def _tree(self, *verdicts: Verdict) -> LexborHTMLParser:
        return parsed(checked(problem(), problem(message="other", repair=None)), verdicts=verdicts)

    def test_without_a_replay_none_is_told(self) -> None:
        tree = self._tree()
        assert not tree.css(".replay, input[name=verdict]")

    def test_a_verdict_stands_with_its_file_and_its_fixes(self) -> None:
        fix = FixVerdict("DVF101", "`x` is here", SINK, "not_reached", "the lines never ran")
        tree = self._tree(Verdict("/x/a.py", "confirmed", ("it is gone", "before: …"), (fix,)))
        assert texts(tree, ".replay p") == ["confirmed", "it is gone", "before: …"]
        first, second = tree.css(".finding")
        assert (first.attributes["data-verdict"], second.attributes["data-verdict"]) == ("not reached", "not replayed")
        assert texts(first, ".badge") == ["safe", "not reached"]
        assert texts(first, ".reason") == ["the lines never ran"]

    def test_a_refuted_fix_is_known_by_its_words(self) -> None:
        fix = FixVerdict("DVF101", "`x` is here", Span(90, 0, 90, 1), "refuted", "it fails")
        first, _ = self._tree(Verdict("/x/a.py", "refuted", (), (fix,))).css(".finding")
        assert first.attributes["data-verdict"] == "refuted"


class TestRewritten:
    def test_what_was_fixed_is_told_beside_what_is_left(self) -> None:
        result = Rewritten(
            Target("/x/a.py", "a.py"),
            BUGGY.encode(),
            FIXED.encode(),
            (problem(), problem(code="DVF002", name="device-guard")),
            (problem(message="left", repair=None),),
        )
        tree = parsed(result)
        assert texts(tree, "h1") == ["1 bug fixed in 1 file, 1 left"]
        assert [node.attributes["data-state"] for node in tree.css(".finding")] == ["fixed", "added", "open"]
        assert texts(tree, ".edit del") == ["x = wrong(loader)"] * 2
        assert {node.attributes["value"] for node in tree.css("input[name=state]")} == {"fixed", "added", "open"}
        assert texts(tree, "#rule-DVF002 h3") == ["DVF002 device-guard"]

    def test_a_stop_in_another_file_shows_its_line_as_it_was(self, tree: Path, devfix: Devfix) -> None:
        validate = (
            "import torch\n\ndef validate(model, loader, device):\n    model.to(device)\n"
            "    for x, y in loader:\n        x = x.to(device)\n        torch.nn.CrossEntropyLoss()(model(x), y)\n\n"
        )
        train = "def train(model, loader, device):\n    for x, y in loader:\n        model(x.to(device))\n"
        (tree / "loop.py").write_text(validate + train)
        (tree / "main.py").write_text(
            "import torch\nfrom loop import train\nmodel = torch.nn.Linear(4, 2)\n"
            'train(model, loader, torch.device("cuda"))\n'
        )
        assert devfix("rewrite", "--output-format", "html", "-o", "page.html").code == 0
        assert "y = y.to(device)" in (tree / "loop.py").read_text()
        stops = texts(LexborHTMLParser((tree / "page.html").read_text()), ".trail li")
        assert "loop.py:11:9 it is called here model(x.to(device))" in stops
