"""What strangers say, as reports repeat it: without the credentials of URLs, and never without end."""

import re

from devfix.batch.git.sources import shown

LONGEST = 2000
"""Of a longer text, this many characters are shown."""

_ADDRESS = re.compile(r"https?://[a-z0-9.-]+(:\d+)?([/?#][!-~]*)?", re.IGNORECASE)
_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def told(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning."""
    # What is cut off may be long: patterns are not let loose on it.
    return shown(text) if len(text) <= longest else f"{shown(_before_address(text[:longest]))}…"


def _before_address(cut: str) -> str:
    """Without the URL in which a text was cut off: what tells its credentials, an `@`, may have been behind."""
    head, mark, address = cut.rpartition("://")
    return cut if not mark or re.search(r"\s", address) else head + mark


def spoken(kind: str) -> str:
    """A verdict in words: `not reached`."""
    return told(kind).replace("_", " ")


def number_of(number: int, one: str, many: str) -> str:
    """`1 fix`, `2 fixes`."""
    return f"{number} {one if number == 1 else many}"


def repositories(number: int) -> str:
    return number_of(number, "repository", "repositories")


def fixes(number: int) -> str:
    return number_of(number, "fix", "fixes")


def web_address(text: str | None) -> str | None:
    """The text where a page may link to it: an address of the web, in plain characters and without a user's name."""
    return text if text is not None and len(text) <= LONGEST and _ADDRESS.fullmatch(text) else None


def duration(seconds: float) -> str:
    """`0.4 s`, `14 s`, `3 min 5 s`, `2 h 4 min`, `3 d 2 h`."""
    if seconds < 1:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    if whole < _DAY:
        return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"
    return f"{whole // _DAY} d {whole % _DAY // _HOUR} h"
