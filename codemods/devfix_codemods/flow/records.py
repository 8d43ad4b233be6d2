"""Records that the interpreter makes by the hundred thousand.

To type checkers they are frozen dataclasses. When the program runs nothing freezes them: a frozen one with eight fields
takes five times as long to make, because each field goes through `object.__setattr__`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

_Record = TypeVar("_Record")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(kind: type[_Record]) -> type[_Record]:
    """A class of records with the annotated fields, compared and hashed by them."""
    return dataclass(slots=True, unsafe_hash=True)(kind)


def replace(one: _Record, /, **changes: object) -> _Record:
    """As `dataclasses.replace`, several times as fast; for records and dataclasses of which all fields are given.

    Raises:
        TypeError: there is no such field.
    """
    kind = type(one)
    known = _FIELDS.get(kind)
    if known is None:
        names = tuple(one.name for one in fields(kind))  # type: ignore[arg-type]
        known = _FIELDS[kind] = names, attrgetter(*names)
    values = dict(zip(known[0], known[1](one)))
    values.update(changes)
    return kind(**values)


_FIELDS: dict[type, tuple[tuple[str, ...], Callable[[object], Any]]] = {}
