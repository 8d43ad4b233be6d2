"""Tracebacks as people paste them: from logs, several ranks, notebooks, terminals with colours, cut at either end.

Lines lose what loggers put in front of them; then the formats of the interpreter, of Python 3.11 and later (carets), of
IPython and of Jupyter are read. What is no part of a traceback is passed over.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\-_]")
_FILE = re.compile(r'^(?P<indent>\s*)File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.+?))?\s*$')
_ANYWHERE = re.compile(r'File "[^"]+", line \d+')
# IPython: "File ~/x.py:12, in train(model, loader)", "Cell In[3], line 5, in <module>", and older "~/x.py in train(m)"
_IPYTHON = re.compile(r"^File (?P<file>\S.*?):(?P<line>\d+)(?:, in (?P<function>[^\s(]+).*)?\s*$")
_CELL = re.compile(
    r"^(?:Cell |Input )In\s*\[?(?P<cell>\d+)\]?, (?:in )?.*?line[: ]\s*(?P<line>\d+)(?:, in (?P<function>[^\s(]+).*)?"
)
_OLD_IPYTHON = re.compile(
    r"^(?P<file>(?:[~/.]|[A-Za-z]:[\\/]|<ipython-input)\S*) in (?P<function>[^\s(]+)(?:\(.*\))?\s*$"
)
# pytest: "train.py:12: in train" on the way, "train.py:21: RuntimeError" below the message
_PYTEST = re.compile(r"^(?P<file>\S+\.py):(?P<line>\d+): (?:in (?P<function>\S+)|(?P<last>[A-Z]\w+))\s*$")
_PYTEST_LINE = re.compile(r"^(?:E  |>  ) +")
_ARROW = re.compile(r"^-+>\s*(?P<line>\d+)\s?(?P<code>.*)$")
_NUMBERED = re.compile(r"^\s*\d+\s")
_START = re.compile(r"Traceback \(most recent call last\)")
_ERROR = re.compile(
    r"^(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Warning|Failure)|[A-Za-z_][\w.]*Error)"
    r"(?::\s?(?P<message>.*))?$"
)
_BETWEEN = re.compile(
    r"(?P<cause>The above exception was the direct cause of)|(?P<context>During handling of the above exception)"
)
_CARETS = re.compile(r"^\s*[~^]+\s*$")


@dataclass(frozen=True, slots=True)
class TracebackFrame:
    """One line of a traceback: `code` is the source that it shows, `cell` says that `file` is a notebook's cell."""

    file: str
    line: int
    function: str = ""
    code: str = ""
    cell: bool = False


@dataclass(frozen=True, slots=True)
class Pasted:
    """One exception with its frames, outermost first. `lines` are those of its message."""

    type: str
    lines: tuple[str, ...]
    frames: tuple[TracebackFrame, ...] = ()

    @property
    def message(self) -> str:
        return self.lines[0] if self.lines else ""


def read(text: str) -> list[Pasted]:
    """The exceptions in `text` in its order; chained ones are each of their own."""
    return _exceptions(_cleaned(text))


# Lines without what loggers add


def _cleaned(text: str) -> list[str]:
    """The lines without colours, line ends and what stands in front of every line of a traceback."""
    lines = [_ANSI.sub("", line).rstrip() for line in re.split(r"\r\n|\r|\n", text)]
    return list(_without_prefixes(lines))


def _without_prefixes(lines: Sequence[str]) -> Iterator[str]:
    """A traceback's lines share the prefix of its `File` lines, whose indentation of two blanks comes after it."""
    shape: re.Pattern[str] | None = None
    for line in lines:
        found = _ANYWHERE.search(line)
        start = _START.search(line)
        if start is not None:
            # IPython puts the name of the error in front
            front = line[: start.start()]
            shape = None if _ERROR.match(front.strip()) else _shape_of(front)
            yield line[start.start() :]
            continue
        if found is not None:
            front = line[: found.start()]
            shape = shape or _shape_of(front.removesuffix("  "))
            yield "  " + line[found.start() :]
            continue
        taken = shape.match(line) if shape is not None else None
        yield line[taken.end() :] if taken is not None else line


def _shape_of(prefix: str) -> re.Pattern[str] | None:
    """A pattern for a prefix of which the digits, and the words of the level, change from line to line."""
    if not prefix.strip():
        return None
    parts = re.split(r"(\d+|\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b|\s+)", prefix.rstrip(" "))
    pattern = "".join(
        r"\d+" if part.isdigit() else r"\s+" if part.isspace() else r"\w+" if part.isupper() else re.escape(part)
        for part in parts
    )
    return re.compile(pattern + r" ?")


# Exceptions


def _exceptions(lines: Sequence[str]) -> list[Pasted]:
    found: list[Pasted] = []
    frames: list[TracebackFrame] = []
    index = 0
    while index < len(lines):
        line = _PYTEST_LINE.sub("", lines[index])
        last = _PYTEST.match(line)
        if last is not None and last["last"] and found:
            frame = TracebackFrame(last["file"], int(last["line"]))
            found[-1] = replace(found[-1], frames=(*found[-1].frames, frame))
        elif _START.search(line) or _BETWEEN.search(line):
            frames = []
        elif (taken := _frame(line)) is not None:
            taken, index = _with_code(taken, lines, index)
            frames.append(taken)
        elif (error := _ERROR.match(line.strip())) is not None and not _is_source(line, frames):
            message, index = _message(error["message"] or "", lines, index)
            found.append(Pasted(error["type"], message, tuple(one for one in frames if one.line > 0)))
            frames = []
        index += 1
    if frames:  # cut before its last line
        found.append(Pasted("", (), tuple(one for one in frames if one.line > 0)))
    return found


def _is_source(line: str, frames: Sequence[TracebackFrame]) -> bool:
    """A line of code that looks like an error: indented below a frame."""
    return bool(frames) and line.startswith("    ")


def _frame(line: str) -> TracebackFrame | None:
    found = _FILE.match(line)
    if found is not None:
        return TracebackFrame(found["file"], int(found["line"]), (found["function"] or "").strip())
    cell = _CELL.match(line.strip())
    if cell is not None:
        return TracebackFrame(f"<cell {cell['cell']}>", int(cell["line"]), cell["function"] or "", cell=True)
    found = _IPYTHON.match(line)
    if found is not None:
        return TracebackFrame(found["file"], int(found["line"]), found["function"] or "")
    found = _PYTEST.match(line)
    if found is not None and found["function"]:
        return TracebackFrame(found["file"], int(found["line"]), found["function"])
    found = _OLD_IPYTHON.match(line)
    if found is not None:
        return TracebackFrame(found["file"], 0, found["function"] or "", cell=found["file"].startswith("<ipython"))
    return None


def _with_code(frame: TracebackFrame, lines: Sequence[str], index: int) -> tuple[TracebackFrame, int]:
    """The frame with its source, and the index of the last line that belongs to it."""
    following = lines[index + 1] if index + 1 < len(lines) else ""
    if following.startswith("    ") and not _CARETS.match(following) and not _NUMBERED.match(following):
        last = index + 1
        while last + 1 < len(lines) and _CARETS.match(lines[last + 1]):
            last += 1
        return replace(frame, code=following.strip()), last
    for ahead in range(index + 1, min(index + 16, len(lines))):
        if _frame(lines[ahead]) is not None or _START.search(lines[ahead]):
            break
        arrow = _ARROW.match(lines[ahead].strip())
        if arrow is not None:
            return replace(frame, line=frame.line or int(arrow["line"]), code=arrow["code"].strip()), ahead
    return frame, index


def _message(first: str, lines: Sequence[str], index: int) -> tuple[tuple[str, ...], int]:
    """The lines of a message: up to the next traceback, blank line, or line that no message would have."""
    found = [first]
    while index + 1 < len(lines) and len(found) < 40:
        line = lines[index + 1]
        if (
            not line.strip()
            or _PYTEST_LINE.match(line)
            or _START.search(line)
            or _BETWEEN.search(line)
            or _frame(line) is not None
        ):
            break
        found.append(line.strip())
        index += 1
    return tuple(found), index
