"""The code that edits bring, parsed so that it takes on the indentation and line ends of the file it joins."""

from functools import lru_cache
from textwrap import dedent

import libcst as cst
from devfix_codemods.edits.errors import InvalidCode

# What equals these defaults is stored as "the file's own" and written that way.
_CONFIG = cst.PartialParserConfig(default_indent="    ", default_newline="\n", encoding="utf-8")


@lru_cache(maxsize=256)
def expression(code: str) -> cst.BaseExpression:
    """Parse one expression.

    Raises:
        InvalidCode: it is none.
    """
    try:
        return cst.parse_expression(code, _CONFIG)
    except cst.ParserSyntaxError as error:
        raise InvalidCode(code, error.message) from error


@lru_cache(maxsize=256)
def statements(code: str) -> tuple[cst.SimpleStatementLine | cst.BaseCompoundStatement, ...]:
    """Parse whole statements, indented with four spaces or not at all; comments above the first are kept.

    Raises:
        InvalidCode: they do not parse, or there are none.
    """
    try:
        module = cst.parse_module(dedent(code).strip("\n") + "\n", _CONFIG)
    except cst.ParserSyntaxError as error:
        raise InvalidCode(code, error.message) from error
    if not module.body:
        raise InvalidCode(code, "there is no statement in it")
    first, *rest = module.body
    first = first.with_changes(leading_lines=[*module.header, *first.leading_lines])
    return (first, *rest)


def small_statement(code: str) -> cst.BaseSmallStatement | None:
    """The one small statement that `code` is, or None where it is more than that."""
    parsed = statements(code)
    if len(parsed) > 1 or not isinstance(parsed[0], cst.SimpleStatementLine):
        return None
    line = parsed[0]
    plain = not line.leading_lines and line.trailing_whitespace.comment is None
    return line.body[0] if len(line.body) == 1 and plain else None
