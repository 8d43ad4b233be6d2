"""Text as a page shows it: in one line, without characters that hide or turn what stands around them."""

from typing import Any

from markupsafe import Markup, escape

from devfix.reporting.terminal import one_line


def shown(value: Any) -> Any:
    """What a template writes for a value. `Markup` is a `str` too, but devfix made it, and it stays as it is."""
    return one_line(value) if type(value) is str else value


def ticked(text: str) -> Markup:
    """Text in which what stands between backquotes becomes code; where one has no partner, all stay as they are."""
    parts = one_line(text).split("`")
    if len(parts) % 2 == 0:
        return escape(one_line(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else escape(part) for number, part in enumerate(parts)
    )


def path(text: str) -> Markup:
    """A path that the browser may break after each slash."""
    return Markup("/<wbr>").join(one_line(text).split("/"))
