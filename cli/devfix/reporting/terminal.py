"""Lines of styled pieces: through rich on a terminal, as plain text anywhere else.

Nothing that comes from a user's file reaches a terminal as it is: control characters and invisible ones are replaced.
"""

import os
import shutil
import sys
import textwrap
import unicodedata
from typing import Any, TextIO

from devfix.formats import Colour

Piece = tuple[str, str]
"""Text and the name of its style."""

Line = list[Piece]

STYLES = {
    "": "",
    "path": "bold",
    "code": "bold red",
    "name": "red",
    "message": "bold",
    "gutter": "blue",
    "sink": "bold red",
    "note": "cyan",
    "added": "green",
    "removed": "red",
    "added part": "reverse green",
    "removed part": "reverse red",
    "hunk": "cyan",
    "fix": "bold green",
    "unsafe": "bold yellow",
    "error": "bold red",
    "faint": "dim",
    "good": "bold green",
}
PIPE_WIDTH = 160
TAB = 4
_FOLDED = 40
"""Text that would be narrower is not folded."""
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Printer:
    """Writes lines to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._console = _console(stream) if wants_colour(stream) else None
        self.width = shutil.get_terminal_size().columns if self._console else PIPE_WIDTH

    def line(self, *pieces: Piece) -> None:
        """One line. The pieces are printed as they are: what comes from a file goes through `visible` first."""
        if self._console is None:
            print("".join(text for text, _ in pieces).rstrip(), file=self._stream)
        else:
            from rich.text import Text

            line = Text.assemble(*((text, STYLES[style]) for text, style in pieces))
            self._console.print(line, soft_wrap=True)

    def paragraph(self, text: str, style: str = "") -> None:
        """`text`, folded on a terminal where it is too long, with what follows its first line set in."""
        indent = len(text) - len(text.lstrip(" "))
        if self._console is None or len(text) <= self.width or self.width < indent + _FOLDED:
            self.line((text, style))
            return
        folded = textwrap.wrap(
            text, self.width, subsequent_indent=" " * (indent + 2), break_long_words=False, break_on_hyphens=False
        )
        for part in folded:
            self.line((part, style))

    def lines(self, lines: list[Line]) -> None:
        for line in lines:
            self.line(*line)


def out() -> Printer:
    return Printer(sys.stdout)


def err() -> Printer:
    return Printer(sys.stderr)


def write_bytes(data: bytes, stream: TextIO | None = None) -> None:
    """Put `data` on the stream as it is; without one, on standard output."""
    stream = stream or sys.stdout
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


_colour = Colour.AUTO


def choose_colour(choice: Colour) -> None:
    """What the user said; it holds for the rest of the run."""
    global _colour
    _colour = choice


def wants_colour(stream: TextIO) -> bool:
    """A terminal that shows colours, or a user who asks for them."""
    if _colour is not Colour.AUTO:
        return _colour is Colour.ALWAYS
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def visible(text: str) -> str:
    """`text` in which every character shows: tabs are kept, what could move the cursor or hide becomes U+FFFD."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter if letter == "\t" or _shows(letter) else "\N{REPLACEMENT CHARACTER}" for letter in text)


def shown_at(letter: str, column: int) -> str:
    """A character as it shows in that column of the screen: tabs become blanks."""
    return " " * (TAB - column % TAB) if letter == "\t" else visible(letter)


def cells_of(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_letter_cells(letter) for letter in text)


def _letter_cells(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def one_line(text: str) -> str:
    """`visible`, with every run of white space a blank."""
    return visible(" ".join(text.split()))


def _shows(letter: str) -> bool:
    return unicodedata.category(letter) not in _HIDDEN


def _console(stream: TextIO) -> Any:
    from rich.console import Console

    return Console(file=stream, highlight=False, markup=False, emoji=False, force_terminal=True)
