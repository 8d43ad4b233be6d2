"""Text as the page shows it."""

from typing import Any

from markupsafe import Markup, escape

from devfix.reporting.terminal import one_line


def shown(value: Any) -> Any:
    """What the template is given: of text, one line in which every character shows."""
    return one_line(value) if type(value) is str else value


def ticked(text: str) -> Markup:
    """Text in which what stands between backquotes is code."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        return escape(one_line(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def path(text: str) -> Markup:
    """A path, which a line may end in behind a folder."""
    return Markup("/<wbr>").join(one_line(text).split("/"))
