"""What a kind of bug says of its programs, apart from their shape: fields of a batch, and lines with holes for names.

`{role}` in a line stands for the name of a role (see `names`), for the expression that gets a field out of its batch,
or for one that moves it on the way; `{place}` stands for the device where everything is meant to be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from variation.shapes import ABSENT, Shape


@dataclass(frozen=True)
class Field:
    """A part of a batch, of which all samples are `made` at once."""

    role: str
    made: str


@dataclass(frozen=True)
class New:
    """A tensor or a module that is made on the host, and moved. A factory would take a `device=`."""

    role: str
    made: str
    is_module: bool = False
    is_factory: bool = True


@dataclass(frozen=True)
class Again:
    """A module that there is already, and that is moved in place. `key` is what stands for this move in `omitted`."""

    role: str
    always: bool = False
    key: str = ""


@dataclass(frozen=True)
class Discard:
    """A part of a batch whose moved copy is discarded in the wrong program."""

    role: str


@dataclass(frozen=True)
class Move:
    """Parts of a batch that are moved, in a row. `always` says that none of them is left out in the wrong program."""

    roles: tuple[str, ...]
    always: bool = False


@dataclass(frozen=True)
class Like:
    """A tensor that a module makes on the host, and moves to where a value of the caller's is."""

    role: str
    made: str
    like: str
    indent: str = "        "


@dataclass(frozen=True)
class Either:
    """Lines that differ: those of the correct program, and of the wrong one."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True)
class Loop:
    """A loop over the loader."""

    items: tuple[Item, ...]


Item: TypeAlias = "str | New | Again | Discard | Move | Like | Either | Loop"


@dataclass(frozen=True)
class Plan:
    """A program without a shape. `step` is what is done with each batch; without `fields` there is no loader."""

    fields: tuple[Field, ...]
    step: tuple[Item, ...]
    defs: tuple[Item, ...] = ()
    setup: tuple[Item, ...] = ()
    before: tuple[Item, ...] = ()
    after: tuple[Item, ...] = ()
    trains: bool = True
    """Whether there is a loss, with a step of the optimizer after it."""
    scores: bool = True
    """Whether the outputs are scores of classes."""
    moves_whole: bool = False
    """Whether a batch is moved as a whole where it is a dictionary."""


@dataclass(frozen=True)
class Kind:
    """A kind of bug: what is left out of the plan's moves, and the values that its axes are limited to."""

    name: str
    plan: Callable[[Shape], Plan]
    omitted: frozenset[str] = frozenset()
    limits: Mapping[str, Sequence[str]] = field(default_factory=dict)


KINDS: dict[str, Kind] = {}
"""All kinds by name. The modules that define them fill it."""

NO_LOADER: Mapping[str, Sequence[str]] = dict.fromkeys(("loop", "batch", "looks", "data"), (ABSENT,))
OWN_NETWORK: Mapping[str, Sequence[str]] = {"network": (ABSENT,)}
PLACED: Mapping[str, Sequence[str]] = {"guard": ("none", "ternary")}
"""For kinds whose correct programs name the device in an expression."""


def kind(
    name: str, *omitted: str, **limits: Sequence[str]
) -> Callable[[Callable[[Shape], Plan]], Callable[[Shape], Plan]]:
    """Adds a kind whose plan the decorated function makes for a shape."""

    def add(plan: Callable[[Shape], Plan]) -> Callable[[Shape], Plan]:
        KINDS[name] = Kind(name, plan, frozenset(omitted), limits)
        return plan

    return add
