"""Abstract values: what a name holds, where that lives, where it was born and how it came here."""

import ast
from dataclasses import field
from typing import Union

from devfix_codemods.flow.places import UNKNOWN, Place, choice, join
from devfix_codemods.flow.records import record, replace
from devfix_codemods.flow.tables import PARAMETERLESS_MODULES
from devfix_codemods.members import Enum, auto


class Kind(Enum):
    """What sort of thing a value is, as far as placement cares."""

    __hash__ = object.__hash__  # members are singletons; the inherited one hashes their names, slowly

    UNKNOWN = auto()
    TENSOR = auto()
    MODULE = auto()
    LOADER = auto()
    DATASET = auto()
    BATCH = auto()
    ENCODING = auto()
    TOKENIZER = auto()
    OPTIMIZER = auto()
    SCALER = auto()
    GENERATOR = auto()
    DEVICE = auto()
    DTYPE = auto()
    NUMBER = auto()
    STRING = auto()
    ARRAY = auto()
    NONE = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    FUNCTION = auto()
    CLASS = auto()
    INSTANCE = auto()
    API = auto()


MAX_SOURCES = 4
"""From how many factories a value may be computed before they are forgotten."""

PLACELESS = frozenset(
    {Kind.NUMBER, Kind.STRING, Kind.NONE, Kind.DTYPE, Kind.DEVICE, Kind.FUNCTION, Kind.CLASS, Kind.API, Kind.ARRAY}
)
"""Kinds that never meet a tensor in an operation that needs one place."""


class Birth(Enum):
    """How a value came to be; the kind of birth picks the repair."""

    LOADER = auto()
    ENCODING = auto()
    FACTORY = auto()
    MODULE = auto()
    MOVE = auto()
    PARAMETER = auto()
    OPERATION = auto()
    CALL = auto()
    INSTANCE = auto()
    """Of a class that cannot be read, and used as a module."""


@record
class Origin:
    """Where a value was born or last moved. `name` is what the code calls it there, where it has a name."""

    birth: Birth
    node: ast.AST
    name: str | None = None


@record
class BatchItem:
    """An element of what a loop over a loader yields.

    `token` identifies the batch, `path` the element: `(1,)`, `("labels",)`, `()` for the batch itself. `statement` is
    the loop (or the assignment from `next(iter(…))`) that yields it. `loaded` says that a loader yields it, as against
    some iterable of which nothing is known.
    """

    token: str
    path: tuple[int | str, ...]
    statement: ast.AST
    loaded: bool = False

    @property
    def name(self) -> str:
        return f"{self.token}{list(self.path)}"

    def child(self, key: int | str) -> "BatchItem":
        return replace(self, path=(*self.path, key))


@record
class Value:
    """One abstract value.

    `token` is its identity where it is an object with state (a module, an instance, an unknown object whose attributes
    matter): places of modules and attributes are kept in the state under the token, since moves change them in place.
    `sources` are the factories on the host from which it was, or may have been, computed and never moved since; of a
    device, those of the tensor that was asked for it.
    `of_host` says that it may be on the host, or is computed of what may: unknown code got values of the host, or a
    `device` that is None by default was left out.
    `denotes` is, for a device, the place it names. `items` are the elements of a sequence or mapping with known keys,
    `element` stands for any element otherwise. `computed` says that the value was computed from its origin and is not
    the thing itself; of a loader or a dataset, that it may place what it yields.
    """

    kind: Kind = Kind.UNKNOWN
    place: Place = UNKNOWN
    origin: Origin | None = None
    token: str | None = None
    qualified: str | None = None
    denotes: Place = UNKNOWN
    batch: BatchItem | None = None
    items: tuple[tuple[int | str, "Value"], ...] | None = None
    element: Union["Value", None] = None
    const: str | int | float | bool | None = None
    definition: ast.AST | None = None
    receiver: Union["Value", None] = None
    scalar: bool = False
    optional: bool = False
    spelled: str | None = None
    computed: bool = False
    of_host: bool = False
    sources: tuple[ast.Call, ...] = ()

    @property
    def identity(self) -> str | None:
        """A name for the value itself: of an object, or of an element of a batch."""
        return self.batch.name if self.batch is not None else self.token

    def item(self, key: int | str) -> Union["Value", None]:
        """The element under `key`, where it is known."""
        for name, value in self.items or ():
            if name == key:
                return value
        return None


NOTHING = Value()
NUMBER = Value(Kind.NUMBER)
STRING = Value(Kind.STRING)
NONE = Value(Kind.NONE)


def tensor(place: Place, origin: Origin | None = None, *, scalar: bool = False) -> Value:
    return Value(Kind.TENSOR, place, origin, scalar=scalar)


def with_dimensions(value: Value) -> Value:
    """`value` where no 0-dim tensor can be: a factor of a matrix product."""
    return replace(value, scalar=False) if value.scalar else value


@record
class Object:
    """The state of one object: where it lives now, who moved it there, what its attributes hold.

    `managed` says that a framework has taken over its placement.
    """

    place: Place = UNKNOWN
    moved: Origin | None = None
    attributes: dict[str, Value] = field(default_factory=dict)
    born: Origin | None = None
    managed: bool = False


def join_values(first: Value, second: Value) -> Value:
    """What a name holds after two branches that may each have bound it."""
    if first is second or first == second:
        return first
    optional = first.optional or second.optional
    if first.kind is Kind.NONE or second.kind is Kind.NONE:
        known = second if first.kind is Kind.NONE else first
        return replace(known, optional=optional, const=None)
    kind = first.kind if first.kind is second.kind else _join_kinds(first, second)
    token = _join_tokens(first.token, second.token)
    lost = token is None and kind is Kind.MODULE  # moves of it could not be followed any more
    return Value(
        kind=kind,
        place=UNKNOWN if lost else _join_places(first, second),
        origin=first.origin,
        token=token,
        qualified=_join_qualified(first, second),
        denotes=_join_devices(first, second),
        batch=first.batch if first.batch == second.batch else None,
        items=_join_items(first, second),
        element=_join_elements(first, second),
        const=first.const if first.const == second.const else None,
        definition=first.definition if first.definition is second.definition else None,
        receiver=first.receiver if first.receiver == second.receiver else None,
        scalar=first.scalar and second.scalar,
        optional=optional,
        spelled=first.spelled if first.spelled == second.spelled else None,
        computed=first.computed or second.computed,
        of_host=first.of_host or second.of_host,
        sources=_sources_of_either(first, second),
    )


def join_sources(*parts: tuple[ast.Call, ...]) -> tuple[ast.Call, ...]:
    """Each factory once; none where they are too many to be one bug."""
    found = tuple(dict.fromkeys(one for part in parts for one in part))
    return found if len(found) <= MAX_SOURCES else ()


def _sources_of_either(first: Value, second: Value) -> tuple[ast.Call, ...]:
    """A 0-dim tensor in one branch may meet anything: only the other branch's factories count."""
    parts = [one for one in (first, second) if one.scalar is (first.scalar and second.scalar)]
    return join_sources(*(one.sources for one in parts))


def _join_places(first: Value, second: Value) -> Place:
    """Unknown where the branches disagree, unless both moved the value: then it is where the branch chose."""
    moved = [one.origin is not None and one.origin.birth is Birth.MOVE for one in (first, second)]
    return choice(first.place, second.place) if all(moved) else join(first.place, second.place)


def _join_kinds(first: Value, second: Value) -> Kind:
    """`"cpu"` in one branch and `torch.device(…)` in the other: a device by either."""
    both = first.denotes != UNKNOWN and second.denotes != UNKNOWN
    return Kind.DEVICE if both and {first.kind, second.kind} == {Kind.STRING, Kind.DEVICE} else Kind.UNKNOWN


def _join_qualified(first: Value, second: Value) -> str | None:
    """One of two modules, or classes of modules, that hold no tensor may stand for either."""
    bare = {first.qualified, second.qualified} <= PARAMETERLESS_MODULES
    return first.qualified if first.qualified == second.qualified or bare else None


def _join_devices(first: Value, second: Value) -> Place:
    return choice(first.denotes, second.denotes)


def _join_tokens(first: str | None, second: str | None) -> str | None:
    if first is None or second is None:
        return None
    parts = set(first.split("|")) | set(second.split("|"))
    return "|".join(sorted(parts)) if len(parts) <= 4 else None


def _join_items(first: Value, second: Value) -> tuple[tuple[int | str, Value], ...] | None:
    if first.items is None or second.items is None:
        return None
    keys, others = [key for key, _ in first.items], dict(second.items)
    if keys != list(others):
        return None
    return tuple((key, join_values(value, others[key])) for key, value in first.items)


def _join_elements(first: Value, second: Value) -> Value | None:
    if first.element is None or second.element is None:
        return first.element or second.element
    return join_values(first.element, second.element)
