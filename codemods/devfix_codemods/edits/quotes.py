"""Literals in the style of a file."""

import io
import tokenize
from collections.abc import Iterator

from devfix_codemods.source import Source


def quoted(source: Source, text: str) -> str:
    """`text` as a literal in the quotes that most short strings of the file have."""
    counts = {"'": 0, '"': 0}
    for token in _strings(source.text):
        body = token.lstrip("rRbBuUfF")
        if body[:3] not in ("'''", '"""'):
            counts[body[0]] += 1
    mark = "'" if counts["'"] > counts['"'] else '"'
    return f"{mark}{text}{mark}"


def _strings(text: str) -> Iterator[str]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return
