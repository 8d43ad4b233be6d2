import pytest
from devfix_codemods import suppressions
from devfix_codemods.findings import Finding
from devfix_codemods.source import Source, Span

RULES = frozenset({"DVF101", "DVF103", "DVF201"})


def _read(text: str) -> suppressions.Suppressions:
    return suppressions.read(Source("a.py", text.encode()))


def _finding(code: str, first: int, last: int | None = None) -> Finding:
    return Finding(code, "name", "message", Span(first, 0, last or first, 1))


def _silence(text: str, *findings: Finding, select: frozenset[str] = RULES) -> suppressions.Silenced:
    return suppressions.silence(findings, _read(text), select, RULES)


NO_COMMENTS = {
    "nothing": "x = 1\n",
    "a string": "x = '# devfix: ignore'\n",
    "a docstring": '"""\n# devfix: skip-file\n"""\n',
    "an f-string": "x = f'{y} # devfix: skip-file'\n",
    "another tool": "x = 1  # noqa: devfix\n",
    "prose": "x = 1  # about devfix: the tool\n",
    "code": "devfix: ignore = 1\n",
}


@pytest.mark.parametrize("text", NO_COMMENTS.values(), ids=NO_COMMENTS)
def test_what_is_no_directive(text):
    assert _read(text) == suppressions.Suppressions()
    assert _silence(text, _finding("DVF101", 1)).findings == (_finding("DVF101", 1),)


class TestIgnoring:
    @pytest.mark.parametrize(
        "comment",
        [
            "# devfix: ignore",
            "#devfix:ignore",
            "# devfix: ignore[DVF101]",
            "# devfix: ignore [ DVF101 ]",
            "# devfix: ignore[DVF101] kept on the host on purpose",
            "# devfix: ignore[DVF103, DVF101]",
            "# noqa # devfix: ignore[DVF101]",
            "# devfix: ignore[DVF101]  # noqa",
            "# type: ignore # devfix: ignore",
        ],
    )
    def test_a_finding_on_its_line(self, comment):
        result = _silence(f"x = 1\ny = 2  {comment}\n", _finding("DVF101", 2), select=frozenset({"DVF101"}))
        assert result == suppressions.Silenced((), 1)

    def test_other_rules_stay(self):
        result = _silence("x  # devfix: ignore[DVF101]\n", _finding("DVF101", 1), _finding("DVF103", 1))
        assert result == suppressions.Silenced((_finding("DVF103", 1),), 1)

    @pytest.mark.parametrize("line", [1, 3])
    def test_other_lines_stay(self, line):
        result = _silence("x\ny  # devfix: ignore[DVF101]\nz\n", _finding("DVF101", line))
        assert _finding("DVF101", line) in result.findings

    @pytest.mark.parametrize("line", [1, 2, 3])
    def test_any_line_of_a_finding(self, line):
        lines = ["f(", "  a,", ")"]
        lines[line - 1] += "  # devfix: ignore[DVF101]"
        assert _silence("\n".join(lines), _finding("DVF101", 1, 3)) == suppressions.Silenced((), 1)

    @pytest.mark.parametrize("newline", ["\r\n", "\r"])
    def test_other_line_ends(self, newline):
        text = newline.join(["x", "y  # devfix: ignore", ""])
        assert _silence(text, _finding("DVF101", 2)) == suppressions.Silenced((), 1)

    def test_form_feeds_end_no_line(self):
        assert _silence("'a\x0cb'\ny  # devfix: ignore\n", _finding("DVF101", 2)) == suppressions.Silenced((), 1)

    def test_comments_before_the_text_stops_being_python(self):
        assert _read("x  # devfix: skip-file\ny = (\n").skip_file


class TestUnused:
    def test_is_reported_where_it_stands(self):
        (found,) = _silence("x\ny = 'é'  # noqa # devfix: ignore[DVF101]\n").findings
        assert (found.code, found.name, found.fix) == ("DVF001", "unused-ignore", None)
        assert found.span == Span(2, 16, 2, 40)
        assert found.message == "unused ignore: DVF101 is not found on this line"
        assert found.advice == "Remove DVF101 from the comment."

    def test_only_the_codes_that_silence_nothing(self):
        result = _silence("x  # devfix: ignore[DVF101, DVF103]\n", _finding("DVF103", 1))
        assert [found.message for found in result.findings] == ["unused ignore: DVF101 is not found on this line"]

    def test_rules_that_are_not_selected_are_not_judged(self):
        assert _silence("x  # devfix: ignore[DVF103]\n", select=frozenset({"DVF101"})).findings == ()

    def test_an_ignore_of_everything_is_judged_by_everything_only(self):
        text = "x  # devfix: ignore\n"
        assert _silence(text, select=frozenset({"DVF101"})).findings == ()
        (found,) = _silence(text).findings
        assert found.message == "unused ignore: nothing is found on this line"

    def test_codes_that_do_not_exist(self):
        (found,) = _silence("x  # devfix: ignore[DVF999]\n").findings
        assert found.message == "unused ignore: there is no rule DVF999"

    def test_codes_of_a_plug_in_that_is_not_here_are_left_alone(self):
        assert _silence("x  # devfix: ignore[ACME101]\n").findings == ()

    def test_a_misspelt_prefix_is_reported(self):
        (found,) = _silence("x  # devfix: ignore[DFV101]\n").findings
        assert found.message == "unused ignore: there is no rule DFV101"

    def test_two_comments_for_one_finding_are_both_used(self):
        text = "f(  # devfix: ignore[DVF101]\n)  # devfix: ignore[DVF101]\n"
        assert _silence(text, _finding("DVF101", 1, 2)) == suppressions.Silenced((), 1)

    def test_equal_comments_on_other_lines_are_judged_apart(self):
        text = "x  # devfix: ignore[DVF101]\ny  # devfix: ignore[DVF101]\n"
        (found,) = _silence(text, _finding("DVF101", 1)).findings
        assert found.span.line == 2


@pytest.mark.parametrize(
    "body",
    [
        "",
        "ignor",
        "ignore DVF101",
        "ignore this",
        "ignore[]",
        "ignore[DVF101",
        "ignore[DVF101,]",
        "ignore[101]",
        "ignore[dvf101]",
        "ignore[batch-not-moved]",
        "ignore[DVF101]x",
        "ignore: DVF101",
        "skip file",
        "skip-files",
    ],
)
def test_what_is_not_understood_is_reported_and_silences_nothing(body):
    finding = _finding("DVF101", 1)
    kept, malformed = _silence(f"x  # devfix: {body}\n", finding).findings
    assert kept == finding
    assert malformed.code == "DVF001"
    assert malformed.message == f"`devfix: {body}` is not understood"
    assert "ignore[DVF101]" in malformed.advice


@pytest.mark.parametrize(
    "text", ["# devfix: skip-file\n", "x\n\n  # devfix: skip-file, generated\n", "x  # devfix: skip-file generated"]
)
def test_skip_file(text):
    assert _read(text.replace(",", "")).skip_file


class TestSilencing:
    """The comment that a review or an editor writes."""

    @pytest.mark.parametrize(
        ("text", "span", "line", "expected"),
        [
            ("x = f(y)\n", Span(1, 4, 1, 8), 1, "x = f(y)  # devfix: ignore[DVF101]"),
            ("x = f(y)   \n", Span(1, 4, 1, 8), 1, "x = f(y)  # devfix: ignore[DVF101]   "),
            ("x = f(y)  # why\n", Span(1, 4, 1, 8), 1, "x = f(y)  # why  # devfix: ignore[DVF101]"),
            ("x  # devfix: ignore[DVF103] old\n", Span(1, 0, 1, 1), 1, "x  # devfix: ignore[DVF103, DVF101] old"),
            ("f(\n    y,\n)\n", Span(1, 0, 3, 1), 1, "f(  # devfix: ignore[DVF101]"),
            ("x = 1 + \\\n    y\n", Span(1, 4, 2, 5), 2, "    y  # devfix: ignore[DVF101]"),
            ('f("""\nlong\n""", y)\n', Span(1, 0, 3, 7), 3, '""", y)  # devfix: ignore[DVF101]'),
            ("x = f(y)", Span(1, 4, 1, 8), 1, "x = f(y)  # devfix: ignore[DVF101]"),
        ],
    )
    def test_it_silences_the_finding(self, text, span, line, expected):
        source = Source("a.py", text.encode())
        assert suppressions.silencing(source, span, "DVF101") == (line, expected)
        lines = [expected if number == line else one for number, one in enumerate(source.lines, 1)]
        assert _silence("\n".join(lines), Finding("DVF101", "n", "m", span), select=RULES).ignored == 1

    @pytest.mark.parametrize(
        ("text", "span"),
        [
            ('x = """\nlong\n"""\n', Span(2, 0, 2, 4)),
            ("x = 1 + \\\n    y\n", Span(1, 4, 1, 5)),
            ("x  # devfix: ignore\n", Span(1, 0, 1, 1)),
            ("x  # devfix: ignore[DVF101]\n", Span(1, 0, 1, 1)),
        ],
    )
    def test_no_line_can_hold_it(self, text, span):
        assert suppressions.silencing(Source("a.py", text.encode()), span, "DVF101") is None

    def test_other_encodings(self):
        source = Source("a.py", "# coding: latin-1\nx = 'é'\n".encode("latin-1"))
        assert suppressions.silencing(source, Span(2, 0, 2, 1), "DVF101") == (2, "x = 'é'  # devfix: ignore[DVF101]")
