"""Literals in the style of a file."""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import lru_cache

from devfix_codemods.source import Source

_LITERAL = re.compile(r"""(["'])([^"']*)\1""")


def unquoted(code: str) -> str:
    """What a literal in quotes says, for messages; any other code as it is."""
    literal = _LITERAL.fullmatch(code)
    return literal[2] if literal is not None else code


def quoted(source: Source, text: str) -> str:
    """`text` as a literal in the quotes that most short strings of the file have."""
    mark = _usual_mark(source.text)
    return f"{mark}{text}{mark}"


@lru_cache(maxsize=4)
def _usual_mark(text: str) -> str:
    """The quotes of a file, which each of its fixes asks for."""
    counts = {"'": 0, '"': 0}
    for token in _strings(text):
        body = token.lstrip("rRbBuUfF")
        if body[:3] not in ("'''", '"""'):
            counts[body[0]] += 1
    return "'" if counts["'"] > counts['"'] else '"'


def _strings(text: str) -> Iterator[str]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return
