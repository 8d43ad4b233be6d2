"""Lines of a cell that IPython understands and Python does not: magics, shell commands, questions for help.

Such a line is left out of what is analysed: a placeholder stands in its place, so that lines keep their numbers, and
the line comes back afterwards. Which lines they are is asked of Python: the ones at which it fails to parse the cell.
"""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent

_OF_THIS_NAMESPACE = frozenset({"time", "capture", "prun", "debug"})
"""Magics that run the rest of the cell, or of the line, as Python, where the other cells run."""

_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_ESCAPED = re.compile(r"(?P<indent>[ \t]*)[%!?]")
_RUN = re.compile(r"(?P<indent>[ \t]*)%(?P<magic>\w+)[ \t]+(?P<statement>.*)")
_HELP = re.compile(r"(?P<indent>[ \t]*)%{0,2}[A-Za-z_*][\w.*\[\]'\"]*\?{1,2}\s*;?\s*$")
_ASSIGNED = re.compile(
    r"(?P<indent>[ \t]*)(?P<target>[A-Za-z_](?:[^=!%'\"\[]|\[(?:'[^']*'|\"[^\"]*\"|[^=!%'\"\]])*\])*?)\s*=\s*[%!]"
)
_WITHOUT_SIGN = re.compile(
    "(alias|alias_magic|autoreload|cat|cd|conda|config|cp|env|hist|history|ldir|lf|lk|ll|load|load_ext|ls|lx|mamba|man|"
    "matplotlib|micromamba|mkdir|more|mv|pdb|pdoc|pfile|pinfo|pip|popd|precision|prun|psource|pushd|pycat|pylab|"
    "reload_ext|rm|rmdir|run|set_env|system|tensorboard|time|timeit|unload_ext|uv|who|whos|xmode)[ \t]"
)
"""Magics that IPython runs by their bare names (`automagic`), where they are all that a cell has."""


@dataclass(frozen=True)
class Masked:
    """A cell as Python: `hidden` are the lines in whose place comments with their numbers stand."""

    text: str
    hidden: tuple[str, ...]


def masked(text: str, token: str, first: int) -> Masked | None:
    """The cell `text` as Python, or None where it is none at all.

    Placeholders carry `token` and a number from `first` on.

    Raises:
        SyntaxError: Python does not parse what is left.
    """
    magic = _CELL_MAGIC.match(text)
    if magic is not None and magic[1] not in _OF_THIS_NAMESPACE:
        return None
    if _is_indented(text, token):
        return None
    lines = text.split("\n")
    hidden: list[str] = []
    while (error := _refusal("\n".join(lines))) is not None:
        found = _guilty(lines, error.lineno or 1, token)
        if found is None:
            found = _bare_magic(lines)
        if found is None:
            raise error
        for index, placeholder in list(_placeholders(lines, found)):
            end = "\r" if lines[index].endswith("\r") else ""
            number = first + len(hidden)
            hidden.append(lines[index])
            lines[index] = f"{placeholder}# {token}{number}{end}"
    return Masked("\n".join(lines), tuple(hidden))


def unmasked(text: str, token: str, hidden: tuple[str, ...]) -> str:
    """`text` with the `hidden` lines back in their places.

    Raises:
        ValueError: one of them has gone, or stands twice.
    """
    seen: list[int] = []

    def line(found: re.Match[str]) -> str:
        seen.append(int(found[1]))
        return hidden[int(found[1])]

    restored = re.sub(rf"(?m)^[^\n]*# {re.escape(token)}(\d+)\r?$", line, text)
    if sorted(seen) != list(range(len(hidden))):
        raise ValueError("a magic would get lost")
    return restored


def _is_indented(text: str, token: str) -> bool:
    """Whether the whole cell is, which IPython allows and nobody else: it is read once it is moved to the margin."""
    first = text.lstrip("\r\n")
    moved = dedent(text)
    if first[:1] not in {" ", "\t"} or moved == text or _refusal(text) is None:
        return False
    try:
        return masked(moved, token, 0) is not None
    except SyntaxError:
        return False


def _bare_magic(lines: list[str]) -> int | None:
    """The index of the only line of a cell, where that is a magic without its sign: `pip install torch`."""
    filled = [index for index, line in enumerate(lines) if line.strip()]
    return filled[0] if len(filled) == 1 and _WITHOUT_SIGN.match(lines[filled[0]]) else None


def _refusal(text: str) -> SyntaxError | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        return error
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxError(str(error) or "nested too deeply")
    return None


def _guilty(lines: list[str], number: int, token: str) -> int | None:
    """The index of the line to blame: the one named, else the closest above it, else the first below."""
    candidates = [index for index, line in enumerate(lines) if token not in line and _placeholder(line) is not None]
    above = [index for index in candidates if index < number]
    if above:
        return above[-1]
    return candidates[0] if candidates else None


def _placeholders(lines: list[str], index: int) -> Iterator[tuple[int, str]]:
    """What stands for the line at `index` and for those that a backslash joins to it."""
    yield index, _placeholder(lines[index]) or "pass  "
    while lines[index].rstrip("\r").endswith("\\") and index + 1 < len(lines):
        index += 1
        yield index, ""


def _placeholder(line: str) -> str | None:
    """A statement in the place of a line that IPython may understand; None for any other."""
    assigned = _ASSIGNED.match(line)
    if assigned is not None:
        return f"{assigned['indent']}{assigned['target']} = __magic__()  "
    run = _RUN.match(line)
    if run is not None and run["magic"] in _OF_THIS_NAMESPACE and (bound := _bound_by(run["statement"])):
        return f"{run['indent']}{' = '.join(bound)} = __magic__()  "
    found = _ESCAPED.match(line) or _HELP.match(line)
    return f"{found['indent']}pass  " if found is not None else None


def _bound_by(statement: str) -> list[str]:
    """What a statement binds, as it spells it: `x` of `x = x.cuda()`. What it binds that to is not followed."""
    try:
        tree = ast.parse(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    places = (one for one in ast.walk(tree) if isinstance(one, ast.Name | ast.Attribute | ast.Subscript))
    return list(dict.fromkeys(ast.unparse(one) for one in places if isinstance(one.ctx, ast.Store)))
