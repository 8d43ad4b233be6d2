"""Readers of the values in a manifest: each checks one, and says in which line it is wrong.

A reader takes a value as TOML gives it, and its place in the manifest. It returns what devfix uses in its stead. If the
value cannot be used, it notes the mistake, and raises `RefusedError`.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from functools import cache, partial
from typing import Any

from devfix.batch.manifest.mistakes import Place, RefusedError
from devfix.errors import UsageError, close_match
from devfix.project.settings import is_confidence, parse_size, parse_version

Reader = Callable[[Any, Place], Any]

_MOST_SIZE = 1 << 62
"""The limits that the system takes are signed numbers of 64 bits."""
_MOST_SECONDS = 10**9
"""Thirty years: clocks can be set so far, and nobody waits longer."""
_MOST_BITS = 256
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "an array"}
"""What messages call a value. The first that fits is taken: bool comes before int, which it is derived from."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Categories of Unicode: controls, surrogates, and what separates lines and paragraphs."""


def text(value: Any, place: Place) -> str:
    """A string that says something, on one line."""
    if not isinstance(value, str):
        place.refuse(f"must be a string, not {_kind(value)}")
    if (control := control_in(value)) is not None:
        place.refuse(f"holds the control character U+{ord(control):04X}")
    if not value.strip():
        place.refuse("is empty")
    return value


def flag(value: Any, place: Place) -> bool:
    if not isinstance(value, bool):
        place.refuse(f"must be true or false, not {_kind(value)}")
    return value


def confidence(value: Any, place: Place) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        place.refuse(f"must be a number, not {_kind(value)}")
    return value if is_confidence(value) else place.refuse(f"must be a number from 0 to 1, not {_shown(value)}")


def whole(least: int, most: int) -> Reader:
    """A whole number from `least` to `most`."""
    return partial(_whole, least=least, most=most)


def seconds(least: float) -> Reader:
    """A duration of at least `least`."""
    return partial(_seconds, least=least)


def size(least: int, use: str = "") -> Reader:
    """A number of bytes, or `8GiB`, of at least `least`, a whole number of MiB, without which `use` is not possible."""
    return partial(_size, least=least, use=use)


def one_of(choices: type[StrEnum]) -> Reader:
    """A member of `choices`, by its value."""
    return partial(_one_of, choices=choices)


def strings(value: Any, place: Place) -> tuple[str, ...]:
    return _each(value, place, text)


def one_or_more(value: Any, place: Place) -> tuple[str, ...]:
    """A string, or an array of them."""
    return strings(value, place) if isinstance(value, list) else (text(value, place),)


def selectors(value: Any, place: Place) -> tuple[str, ...]:
    """Rules, as the user names them: codes, prefixes of codes, names."""
    return _each(value, place, _selector)


def torch_version(value: Any, place: Place) -> tuple[int, int]:
    if not isinstance(value, str):
        place.refuse(f'must be a string such as "2.4", not {_kind(value)}')
    return parse_version(value) or place.refuse(f'{value!r} is no torch version; write it like "2.4"')


def backend(value: Any, place: Place) -> str:
    """Where a replay runs."""
    from devfix.replay.backends import CHOICES

    name = text(value, place)
    return name if name in CHOICES else place.refuse(_not_among(name, CHOICES))


def replay_command(value: Any, place: Place) -> str:
    """A command as for `--replay-command`. Whether its script exists is seen later, in the checkout."""
    from devfix.replay.programs import ProgramError, read_command

    command = text(value, place)
    try:
        read_command(command)
    except ProgramError as error:
        place.refuse(f"cannot be replayed: {error}")
    return command


def variables(value: Any, place: Place) -> dict[str, str]:
    """A table of environment variables. Unlike other strings, these may be empty."""
    read: dict[str, str] = {}
    for name, content in any_table(value, place).items():
        if not _VARIABLE.fullmatch(name):
            place.note_key(name, "letters, digits and '_' make the name of a variable, not")
        with suppress(RefusedError):
            read[name] = "" if content == "" else text(content, place.at(name))
    return read


def control_in(value: str) -> str | None:
    """The first character that moves the cursor, or that cannot be written as UTF-8; None where there is none."""
    if value.isascii() and value.isprintable():
        return None
    return next((letter for letter in value if unicodedata.category(letter) in _CONTROLS), None)


def table(value: Any, place: Place, known: Mapping[str, Reader]) -> dict[str, Any]:
    """The values of a table with `known` keys, each read by its reader. Those that cannot be used are left out.

    Unlike the other readers, this one never raises: one mistake must not hide those in the rest of the table.
    """
    read: dict[str, Any] = {}
    if not isinstance(value, dict):
        place.note(_no_table(value))
        return read
    for key, content in value.items():
        if key not in known:
            place.note_key(key, "unknown key", close_match(key, known))
            continue
        with suppress(RefusedError):
            read[key] = known[key](content, place.at(key))
    return read


def any_table(value: Any, place: Place) -> dict[str, Any]:
    """A table whose keys are the user's own."""
    return value if isinstance(value, dict) else place.refuse(_no_table(value))


def _no_table(value: Any) -> str:
    return f"must be a table, not {_kind(value)}"


def _each(value: Any, place: Place, reader: Callable[[Any, Place], str]) -> tuple[str, ...]:
    if not isinstance(value, list):
        place.refuse(f"must be an array of strings, not {_kind(value)}")
    read: list[str] = []
    for number, item in enumerate(value):
        with suppress(RefusedError):
            read.append(reader(item, place.at(number)))
    if len(read) < len(value):
        raise RefusedError
    return tuple(read)


def _selector(value: Any, place: Place) -> str:
    selector = text(value, place)
    fault = _rule_fault(selector)
    return selector if fault is None else place.refuse(f"names {fault}")


def _whole(value: Any, place: Place, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        place.refuse(f"must be a whole number, not {_kind(value)}")
    if value < least:
        place.refuse(f"must be at least {least}, not {_shown(value)}")
    return value if value <= most else place.refuse(f"must be at most {most}, not {_shown(value)}")


def _seconds(value: Any, place: Place, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        place.refuse(f"must be a number of seconds, not {_kind(value)}")
    if not value >= least:  # so is nan
        place.refuse(f"must be a number of seconds from {least:g} on, not {_shown(value)}")
    if value > _MOST_SECONDS:
        place.refuse(f"must be at most {_MOST_SECONDS} seconds, not {_shown(value)}")
    return float(value)


def _size(value: Any, place: Place, least: int, use: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        place.refuse(f'must be a size such as "8GiB", not {_kind(value)}')
    read = parse_size(value) if isinstance(value, str) else value
    written = repr(value) if isinstance(value, str) else _shown(value)
    if read is None or not 0 <= read <= _MOST_SIZE:
        place.refuse(f'{written} is no size; write bytes, or "512MiB", or "8GiB"')
    if read < least:
        purpose = f" to {use}" if use else ""
        place.refuse(f"{written} is too little{purpose}; at least {least >> 20}MiB are needed")
    return read


def _one_of(value: Any, place: Place, choices: type[StrEnum]) -> StrEnum:
    name = text(value, place)
    known = [choice.value for choice in choices]
    return choices(name) if name in known else place.refuse(_not_among(name, known))


def _not_among(value: str, choices: Sequence[str]) -> str:
    return f"is {value!r}, which is not one of {', '.join(choices)}{close_match(value, choices)}"


def _shown(number: float) -> str:
    """A number in a message. Python prints no integer of thousands of digits, which TOML can write in hexadecimal."""
    is_long = isinstance(number, int) and number.bit_length() > _MOST_BITS
    return f"a number of {int(number).bit_length()} bits" if is_long else str(number)


def _kind(value: Any) -> str:
    return next((words for kind, words in _KINDS.items() if isinstance(value, kind)), "a table or a date")


@cache
def _rule_fault(selector: str) -> str | None:
    from devfix.rules.selection import codes_of

    try:
        codes_of([selector])
    except UsageError as error:
        return str(error)
    return None
