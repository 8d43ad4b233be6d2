"""What was in reach when a script crashed, as frozen data."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Step:
    """One step in the life of a value: since this step it is at `place`.

    `how` completes "it is there since it was …": `made by torch.zeros`, `moved by .to`. `file` (relative to the tree)
    and `line` are the user's line that did it, None where there is none, and `code` is that line.
    """

    place: str
    how: str
    file: str | None = None
    line: int | None = None
    code: str = ""


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """A tensor: where it is, its shape and dtype, and how it came there, oldest step first.

    `history` is empty on real hardware. `shape` is None where the tensor would not say.
    """

    place: str
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    history: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """Something in reach of a frame.

    `expression` is what stands in the source for it. `frame` is the index in `PostMortem.frames` of the frame that
    reaches it. `operand` says that it stands in the failing expression itself and `culprit` that it is part of the
    mismatch. `alias` is the expression of the same object further up in the list, where it has one there.
    """

    expression: str
    frame: int = 0
    operand: bool = False
    culprit: bool = False
    alias: str | None = None


@dataclass(frozen=True, slots=True)
class TensorValue(Value):
    """A tensor. `argument` is the name that the operator's check had for it, where that is known."""

    facts: TensorFacts = TensorFacts("cpu")
    argument: str | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A tensor inside something: a parameter by its dotted name, an item of a batch by its key, field or number.

    `expression` is how the source would reach it: `batch['labels']`.
    """

    name: str
    facts: TensorFacts
    expression: str = ""


@dataclass(frozen=True, slots=True)
class ModuleValue(Value):
    """A module of class `type`: how many of its parameters and buffers are at each place.

    `odd` are those that are not where most are, the first few of them, and `history` is that of one of the others.
    `involved` names those that are part of the mismatch, as far as that is known.
    """

    type: str = "Module"
    places: Mapping[str, int] = field(default_factory=dict)
    odd: tuple[Member, ...] = ()
    history: tuple[Step, ...] = ()
    involved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OptimizerValue(Value):
    """An optimizer of class `type`: how many of its parameters, and of the tensors of its state, are at each place.

    Numbers in its state, which stay on the host, do not count. `history` is that of its first parameter, and
    `state_history` that of the first tensor of its state.
    """

    type: str = "Optimizer"
    places: Mapping[str, int] = field(default_factory=dict)
    state_places: Mapping[str, int] = field(default_factory=dict)
    history: tuple[Step, ...] = ()
    state_history: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchValue(Value):
    """A collection of tensors of class `type`: a dict, a tuple, a BatchEncoding, an object with tensors.

    `items` are the first few; `involved` are the keys of those that are part of the mismatch, as far as that is known.
    """

    type: str = "tuple"
    items: tuple[Member, ...] = ()
    involved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtherValue(Value):
    """Something else that has a place: `type` is `device`, `generator` or `array`."""

    type: str = "device"
    place: str = "cpu"


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the user's own code. `file` is relative to the tree."""

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
class Named:
    """A name, or an attribute of `self`, in the frame with that index, and the form of what it stands for."""

    frame: int
    expression: str
    form: Form


@dataclass(frozen=True, slots=True)
class PostMortem:
    """What was in reach when a script crashed with a device error.

    `file` and `line` are those of the innermost frame of the user's code. Columns count from 0 in UTF-8 bytes, as `ast`
    counts them; they are None where they are not known (before Python 3.11), and `code` is then the whole line.
    `operation` is the callee or the operator in `code`. `frames` are the user's, outermost first. `values` has the
    operands of the failing expression first. `forms` tells of everything with a name, also of what has no place.
    """

    message: str
    file: str
    line: int
    code: str = ""
    operation: str = ""
    function: str = ""
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    frames: tuple[Frame, ...] = ()
    values: tuple[Value, ...] = ()
    forms: tuple[Named, ...] = ()

    @property
    def culprits(self) -> tuple[Value, ...]:
        return tuple(value for value in self.values if value.culprit)
