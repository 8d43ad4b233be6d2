import ast
import codecs

import pytest
from devfix_codemods.source import Source, SourceError, Span, parses


def _source(data: bytes | str) -> Source:
    return Source("a.py", data.encode() if isinstance(data, str) else data)


BROKEN = {
    "no utf-8": (b"\n\nx = '\xe9'\n", "not valid utf-8 at byte 7: invalid continuation byte"),
    "no utf-8 in the first line": (b"x = '\xe9'\n", "not valid utf-8 at byte 5: invalid continuation byte"),
    "an unknown cookie": (b"# coding: nonsense\n", "unknown or contradictory encoding: unknown encoding: nonsense"),
    "a cookie against the mark": (codecs.BOM_UTF8 + b"# coding: latin-1\n", "unknown or contradictory encoding"),
    "a cookie that is no text encoding": (b"# coding: rot13\nx = 1\n", "not valid rot13"),
    "a cookie that decodes nothing": (b"# coding: undefined\nx = 1\n", "not valid undefined"),
    "a syntax error": (b"x = 1\ny = = 2\n", "syntax error: invalid syntax (line 2)"),
    "an open bracket": (b"x = (\n", "syntax error: '(' was never closed (line 1)"),
    "a zero byte": (b"x = 1\x00\n", "null byte"),
    "another indentation": (b"if x:\n\ta\n        b\n", "syntax error"),
    "too many signs": (b"x = " + b"-" * 200_000 + b"1\n", "nested too deeply to be parsed"),
}


@pytest.mark.parametrize(("data", "reason"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_python_has_one_line_that_says_why(data, reason):
    with pytest.raises(SourceError) as caught:
        _ = _source(data).tree
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert not parses(data)


def test_warnings_about_the_text_do_not_leak():
    assert _source("x = '\\d' is 1\n").tree.body
    assert parses(b"x = '\\d' is 1\n")


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"x = 1\n", "utf-8"),
        (codecs.BOM_UTF8 + b"x = 1\n", "utf-8-sig"),
        (b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\nx = '\xe9'\n", "iso-8859-1"),
        (b"\n# coding: latin-1\ny = 1\n", "iso-8859-1"),
        (b"# coding: latin-1 M\xfcller\ny = '\xe9'\n", "iso-8859-1"),
        (b"#!/usr/bin/python\n# coding: cp1252 \x80\ny = '\xe9'\n", "cp1252"),
        (codecs.BOM_UTF8 + "# coding: utf-8 é\nx = 1\n".encode(), "utf-8-sig"),
        (b"x = 1\n# coding: latin-1\n", "utf-8"),
    ],
)
def test_encoding(data, encoding):
    source = _source(data)
    assert source.encoding == encoding
    assert source.tree.body
    assert parses(data)


def test_the_byte_order_mark_is_no_part_of_the_text():
    assert _source(codecs.BOM_UTF8 + b"x = 1\n").text == "x = 1\n"


@pytest.mark.parametrize(
    ("text", "lines", "newline"),
    [
        ("", [""], "\n"),
        ("a", ["a"], "\n"),
        ("a\n", ["a", ""], "\n"),
        ("a\r\nb\n", ["a", "b", ""], "\r\n"),
        ("a\rb\n\rc", ["a", "b", "", "c"], "\r"),
        ("a\x0cb\x0bc\u2028d\n", ["a\x0cb\x0bc\u2028d", ""], "\n"),
    ],
)
def test_lines_are_those_of_the_parser(text, lines, newline):
    source = _source(text)
    assert list(source.lines) == lines
    assert source.newline == newline


SEGMENTS = [
    "x = f(a)\n",
    "x = 'żó' + f(a)\n",
    "'🚀'; f(a)\n",
    "x = (1,\n  '🚀é', f(a), 'é')\n",
    "if x:\n\tf(a)\n",
    "\x0cf(a)\n",
    "x = 1\r\ny = f(a)\r\n",
    "x = 1\ry = f(a)\r",
]


@pytest.mark.parametrize("text", SEGMENTS)
def test_spans_count_characters(text):
    source = _source(text)
    call = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    assert source.segment(source.span(call)) == "f(a)"


def test_a_segment_of_several_lines():
    source = _source("x = f(\r\n  'é',\r\n  b)\r\n")
    call = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    assert source.span(call) == Span(1, 4, 3, 4)
    assert source.segment(source.span(call)) == "f(\r\n  'é',\r\n  b)"


def test_spans_contain_one_another():
    outer = Span(1, 4, 3, 2)
    assert outer.contains(outer)
    assert outer.contains(Span(2, 0, 2, 99))
    assert not outer.contains(Span(1, 3, 2, 0))
    assert not outer.contains(Span(2, 0, 3, 3))
