"""What strangers say, for a Markdown document."""

import re

from devfix.reporting.terminal import one_line

_TICKS = re.compile("`+")
_ESCAPED_BAR = re.compile(r"\\+(?=\|)")


def code_span(text: str) -> str:
    """The text as one line of code for a cell of a table; nothing where it is empty.

    In a code span nothing is markup, a link, or the name of somebody to be told:
    https://spec.commonmark.org/0.31.2/#code-spans, https://github.github.com/gfm/#tables-extension-
    """
    line = one_line(text)
    if not line:
        return ""
    fence = "`" * (max(map(len, _TICKS.findall(line)), default=0) + 1)
    padded = f" {line} " if line.startswith("`") or line.endswith("`") else line
    # In a table a bar is escaped, but not by a backslash that another one before it escapes.
    escaped = _ESCAPED_BAR.sub(lambda found: "\N{REVERSE SOLIDUS OPERATOR}" * len(found[0]), padded)
    return f"{fence}{escaped}{fence}".replace("|", "\\|")
