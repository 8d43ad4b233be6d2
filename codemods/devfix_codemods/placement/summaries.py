"""What one file says to those around it: where its functions want what they are given, and where what it gives them is.

Summaries name parameters and arguments only, so that they outlive the analysis of the file that they are made from.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from devfix_codemods.ir import Function
from devfix_codemods.source import Span

Argument = int | str
"""The position of an argument, or its keyword."""


Condition = frozenset[tuple[Hashable, bool]]
"""Under which a value is moved: what is given, or a test that means the same in all files, and whether it holds."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a value is, for another file: on the device that something else names, one that is text, or on some device
    that only the file knows which says so."""

    device: Argument | None
    spelled: str | int | None
    when: Condition


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where a parameter belongs, and where it meets what is there; `beside` which other one, if that is all."""

    site: Site | None
    beside: str | None
    path: str
    span: Span
    note: str
    of_module: bool
    """Whether it is called there, so that only a module belongs there."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of what another file defines, and where some arguments are.

    `wrapped`: those that something makes which is not read, and may place what they give.
    """

    callee: str
    placed: Mapping[Argument, Site]
    wrapped: frozenset[Argument]


@dataclass(frozen=True, slots=True)
class Plain:
    """A call of what another file defines: which arguments are surely no tensors, so that they have no device."""

    callee: str
    arguments: frozenset[Argument]


@dataclass(frozen=True, slots=True)
class Outline:
    """What the kinds of its values tell of a file, which cost less than where these are.

    `placing`: the names of the functions that are given a device, or a module. `plain`: the calls that give what is no
    tensor.
    """

    placing: frozenset[str]
    plain: tuple[Plain, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """`wanted`: by the name of a function, `fit` or `Trainer.__init__`, where which parameter belongs.

    `calls`: those that get what is on a device.
    """

    wanted: Mapping[str, Mapping[str, Wanted]]
    calls: tuple[Call, ...]


NO_OUTLINE = Outline(frozenset(), ())
NOTHING = Summary({}, ())


def qualified(function: Function) -> str:
    return function.name if function.owner is None else f"{function.owner.name}.{function.name}"
