"""A cell of a notebook as a file of its own, for whoever looks for its lines."""

from __future__ import annotations

import linecache


class Cell:
    """A cell and the name of its code. Tracebacks show its lines as Python, once IPython has made that of them."""

    def __init__(self, name: str, text: str, may_raise: bool = False) -> None:
        self.name = name
        self.text = text if text.endswith("\n") else f"{text}\n"
        self.may_raise = may_raise
        self.show(0, self.text)

    def offset(self, part: str) -> int | None:
        """The number of lines before the first one with code of `part`, which ends the cell; None where it does not."""
        ended = part if part.endswith("\n") else f"{part}\n"
        if not self.text.endswith(ended):
            return None
        blank = len(ended) - len(ended.lstrip("\n"))
        return self.text[: len(self.text) - len(ended)].count("\n") + blank

    def show(self, offset: int, python: str) -> None:
        """Have `python` stand for the cell's lines after `offset`, and comments for those before that are magics."""
        before = self.text.splitlines(keepends=True)[:offset]
        lines = [f"# {line}" if line.startswith("%") else line for line in before]
        lines += python.splitlines(keepends=True)
        # Without a time, nobody looks for such a file.
        linecache.cache[self.name] = (sum(map(len, lines)), None, lines, self.name)
