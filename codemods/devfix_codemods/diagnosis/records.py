"""What is known of a device error, and what a repair of it is: frozen records."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from devfix_codemods.diagnosis.messages import Category
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Safety
from devfix_codemods.source import Span

HOST = "cpu"
"""How torch names the host in a place."""


class Kind(StrEnum):
    """What sort of thing an operand is."""

    TENSOR = "tensor"
    MODULE = "module"
    BATCH = "batch"
    OPTIMIZER = "optimizer"
    GENERATOR = "generator"
    ARRAY = "array"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stop:
    """One step in a value's life: since `file`:`line` it is on `place`, because it was `how` (`moved by .to`).

    `file` is a key of the sources, or None outside of the user's files; `line` counts from 1.
    """

    place: str
    how: str
    file: str | None = None
    line: int | None = None

    @property
    def is_move_to_host(self) -> bool:
        """Whether the program itself put the value on the host."""
        return self.place == HOST and self.how.startswith("moved")


@dataclass(frozen=True, slots=True)
class Frame:
    """A call that was running, in the user's own code."""

    file: str
    line: int
    function: str


@dataclass(frozen=True, slots=True)
class Form:
    """What a value is, as far as moving it goes: of class `type`, and `moves` where that has a `.to`.

    `parts` are the different forms of the elements of a container, `is_dict` says that they are values by key.
    """

    type: str
    moves: bool = False
    is_dict: bool = False
    parts: tuple["Form", ...] = ()


@dataclass(frozen=True, slots=True)
class Operand:
    """A value that took part in the error, or was in reach of it.

    `expression` is its text in the frame `frame` (an index into the diagnosis' frames), and `span` where it stands in
    the sink, if it does. `place` is where it lives now and `wanted` where it should. `history` is oldest first; the
    first stop is the origin. Of a module with parts in several places, `odd` are the misplaced parts by name, each with
    its history, and `place` is where the others are. `type` is the class of a batch, where it is known.
    """

    expression: str
    kind: Kind
    place: str
    wanted: str | None = None
    span: Span | None = None
    frame: int = -1
    history: tuple[Stop, ...] = ()
    odd: tuple[tuple[str, tuple[Stop, ...]], ...] = ()
    type: str = ""

    @property
    def origin(self) -> Stop | None:
        return self.history[0] if self.history else None

    @property
    def is_host_by_design(self) -> bool:
        """Whether the last that was done to it was to put it on the host: not ours to take back."""
        return bool(self.history) and self.history[-1].is_move_to_host


@dataclass(frozen=True, slots=True)
class Sink:
    """The operation that failed: its place in the user's code, its text, and the callee or operator in it."""

    file: str
    span: Span
    code: str
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A device error: what met where.

    `misplaced` are the operands that are in the wrong place and `anchors` those that are where they belong; both can be
    empty where only a traceback is known. `around` are other values in reach. `frames` are outermost first. `live` has
    the forms of what names stood for in them, by the frame's index and the name (`batch`, `self.shadow`).
    """

    message: str
    category: Category
    sink: Sink
    misplaced: tuple[Operand, ...] = ()
    anchors: tuple[Operand, ...] = ()
    around: tuple[Operand, ...] = ()
    frames: tuple[Frame, ...] = ()
    live: Mapping[tuple[int, str], Form] = field(default_factory=dict)

    def at(self, place: str | None) -> tuple[Operand, ...]:
        """The values in reach that are wholly at `place`, those that took part in the error first."""
        return tuple(one for one in (*self.anchors, *self.around) if one.place == place and not one.odd)


@dataclass(frozen=True, slots=True)
class Repair:
    """A candidate: a title in the imperative, and for each file the edits, which make sense only together.

    `rule` is the code of the rule whose fix it is, where the source alone already decides it. `effect` says what the
    repair also changes in what the program computes, None for nothing.
    """

    title: str
    edits: tuple[tuple[str, tuple[Edit, ...]], ...]
    safety: Safety = Safety.UNSAFE
    rule: str | None = None
    effect: str | None = None


def misplaced_among(operands: Iterable[Operand]) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """The operands of an error, told apart: those in the wrong place, with where they should be, and the anchors.

    The program's choice counts: what it moved to a device is right and what was left on the host is wrong, unless it
    put that on the host itself. Among several devices, the one of the first module decides, then that of the first
    operand.
    """
    known = [one for one in operands if one.place]
    wanted = _wanted(known)
    if wanted is None:
        return (), tuple(known)
    wrong = tuple(_aimed(one, wanted) for one in known if one.place != wanted or one.odd)
    return wrong, tuple(one for one in known if one.place == wanted and not one.odd)


def _wanted(operands: list[Operand]) -> str | None:
    places = list(dict.fromkeys(one.place for one in operands))
    spread = any(one.odd for one in operands)
    if len(places) < 2 and not spread:
        return None
    devices = [place for place in places if place != HOST]
    if any(one.is_host_by_design for one in operands if one.kind is not Kind.MODULE) and len(devices) == 1:
        return HOST
    if len(devices) == 1:
        return devices[0]
    modules = [one.place for one in operands if one.kind is Kind.MODULE and one.place in devices]
    return modules[0] if modules else (devices or places)[0]


def _aimed(operand: Operand, wanted: str) -> Operand:
    return replace(operand, wanted=wanted)
