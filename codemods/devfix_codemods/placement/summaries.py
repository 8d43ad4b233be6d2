"""What one file says to those around it: where its functions want what they are given, and where what it gives them is.

Summaries name parameters and arguments only, so that they outlive the analysis of the file that they are made from.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from devfix_codemods.ir import Function
from devfix_codemods.source import Span

Argument = int | str
"""The position of an argument, or its keyword."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What names the device that a parameter belongs on, and where the parameter meets what is there."""

    device: str
    path: str
    span: Span
    note: str
    of_module: bool
    """Whether it is called there, so that only a module belongs there."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of what another file defines: which arguments are on the device that which argument names.

    `wrapped`: those that something makes which is not read, and may place what they give.
    """

    callee: str
    placed: Mapping[Argument, Argument]
    wrapped: frozenset[Argument]


@dataclass(frozen=True, slots=True)
class Plain:
    """A call of what another file defines: which arguments are surely no tensors, so that they have no device."""

    callee: str
    arguments: frozenset[Argument]


@dataclass(frozen=True, slots=True)
class Summary:
    """`wanted`: by the name of a function, `fit` or `Trainer.__init__`, which parameter belongs where which other says.

    `calls`: those that name a device.
    """

    wanted: Mapping[str, Mapping[str, Wanted]]
    calls: tuple[Call, ...]


NOTHING = Summary({}, ())


def qualified(function: Function) -> str:
    return function.name if function.owner is None else f"{function.owner.name}.{function.name}"
