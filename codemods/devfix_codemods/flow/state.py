"""The interpreter's state at one point of the program, and how two states join."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeVar

from devfix_codemods.flow.places import HOST, UNKNOWN, Place, choice, join
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.tables import PARAMETERLESS_MODULES
from devfix_codemods.flow.values import PLACELESS, Kind, Object, Value, join_values

Held = TypeVar("Held", Value, Object)


@dataclass(slots=True)
class State:
    """What holds at one point.

    `env` are the names of the current frame. `objects` is the heap: the mutable side of modules and instances, by
    token. `moved` tells, for each batch, to which places elements of it have been moved. `default` is where factories
    put their tensors (`with torch.device(…)`, `torch.set_default_device`), None for the host. `lent` tells where copies
    of what a name holds have been put: `net(x.to(device))`.
    """

    env: dict[str, Value] = field(default_factory=dict)
    objects: dict[str, Object] = field(default_factory=dict)
    moved: dict[str, frozenset[Place]] = field(default_factory=dict)
    devices: dict[str, Place] = field(default_factory=dict)
    default: Place | None = None
    lent: dict[str, frozenset[Place]] = field(default_factory=dict)

    def copy(self) -> "State":
        return State(
            dict(self.env), dict(self.objects), dict(self.moved), dict(self.devices), self.default, dict(self.lent)
        )

    def entering(self, env: dict[str, Value]) -> "State":
        """The state in which a callee starts: names of its own, the same objects."""
        return State(env, self.objects, self.moved, {}, self.default)

    def bind(self, name: str, value: Value) -> None:
        """Give `name` a value; device expressions that start at the name mean something else from now on."""
        self.env[name] = value
        self.lent.pop(name, None)
        for text in [text for text in self.devices if _starts_at(name, text)]:
            del self.devices[text]

    def rebind(self, name: str, before: "State") -> None:
        """Give `name`, and the device expressions that start at it, what they were `before`."""
        self.bind(name, before.env[name])
        self.devices.update({text: one for text, one in before.devices.items() if _starts_at(name, text)})

    def place_of(self, value: Value) -> Place:
        """Where `value` lives now: an object where its state says, anything else where the value says."""
        if value.token is not None and value.token in self.objects:
            return self.objects[value.token].place
        return value.place

    def relocate(self, token: str, place: Place, *, keeps_moved: bool = False, **changes: object) -> None:
        """Move the object and every object inside it. `keeps_moved` leaves those alone that were moved themselves."""
        seen: set[str] = set()
        pending = [token]
        self._disturb(token.split("|") if "|" in token else ())
        while pending:
            current = pending.pop()
            known = self.objects.get(current)
            if current in seen or known is None or (keeps_moved and known.moved is not None):
                continue
            seen.add(current)
            own = changes if current == token else {}
            self.objects[current] = replace(known, place=place, **own)
            inner = [one.token for one in known.attributes.values() if one.token]
            pending.extend(inner)
            for one in inner:
                self._disturb(one.split("|") if "|" in one else ())

    def _disturb(self, tokens: Iterable[str]) -> None:
        """Objects of which one, or each, was moved by a name that may stand for any of them: where they are is open."""
        for token in tokens:
            known = self.objects.get(token)
            if known is not None:
                self.objects[token] = replace(known, place=UNKNOWN)
                self._disturb(one.token for one in known.attributes.values() if one.token)

    def disturb(self, value: Value) -> None:
        """Forget where an object on the host is: something out of sight may have moved it."""
        if value.token is not None and value.token in self.objects and self.objects[value.token].place == HOST:
            self.relocate(value.token, UNKNOWN)

    def attribute(self, token: str, name: str) -> Value | None:
        known = self.objects.get(token)
        return known.attributes.get(name) if known else None

    def set_attribute(self, token: str, name: str, value: Value) -> None:
        known = self.objects.get(token, Object())
        self.objects[token] = replace(known, attributes={**known.attributes, name: value})


def holds_nothing(module: Value, state: State) -> bool:
    """Whether a module has neither parameters nor buffers, nor parts with any: moved or not, it takes what it gets."""
    known = state.objects.get(module.token or "")
    parts = known.attributes.values() if known is not None else ()
    return module.qualified in PARAMETERLESS_MODULES and all(
        one.kind in PLACELESS or (one.kind is Kind.MODULE and holds_nothing(one, state)) for one in parts
    )


def _starts_at(name: str, text: str) -> bool:
    """Whether an expression is `name`, or an attribute of it."""
    return text == name or text.startswith(f"{name}.")


def join_states(first: State | None, second: State | None) -> State | None:
    """The state after two paths meet; None is a path that does not get here."""
    if first is None or second is None:
        return first or second
    joined = State(
        _join_all(first.env, second.env, _join_binding),
        _join_all(first.objects, second.objects, _join_known),
        default=first.default if first.default == second.default else UNKNOWN,
    )
    add_merged_objects(joined)
    for batch in first.moved | second.moved:
        joined.moved[batch] = first.moved.get(batch, frozenset()) | second.moved.get(batch, frozenset())
    joined.devices = {text: place for text, place in first.devices.items() if second.devices.get(text) == place}
    joined.lent = {name: places & second.lent.get(name, frozenset()) for name, places in first.lent.items()}
    return joined


def _join_all(
    first: dict[str, Held], second: dict[str, Held], join_two: Callable[[Held | None, Held | None], Held]
) -> dict[str, Held]:
    """What either of two tables holds. Most of it is the same in both."""
    joined = first | second
    for name, other in second.items():
        mine = first.get(name)
        if mine is not other:
            joined[name] = join_two(mine, other)
    if len(joined) > len(second):
        for name, mine in first.items():
            if name not in second:
                joined[name] = join_two(mine, None)
    return joined


def _join_binding(first: Value | None, second: Value | None) -> Value:
    if first is second and first is not None:
        return first
    if first is None or second is None:
        known = first or second
        assert known is not None
        return known if known.optional else replace(known, optional=True)
    return join_values(first, second)


def _join_known(first: Object | None, second: Object | None) -> Object:
    if first is None or second is None:
        known = first or second
        assert known is not None
        return known
    return first if first is second or first == second else join_objects(first, second)


def join_objects(first: Object, second: Object) -> Object:
    """One object after two branches. Where both moved it, its place is the choice that the branches made."""
    both_moved = first.moved is not None and second.moved is not None
    place = choice(first.place, second.place) if both_moved else join(first.place, second.place)
    attributes = {
        name: _join_attribute(first.attributes.get(name), second.attributes.get(name))
        for name in first.attributes | second.attributes
    }
    return Object(
        place=place,
        moved=first.moved or second.moved,
        attributes=attributes,
        born=first.born or second.born,
        managed=first.managed or second.managed,
    )


def _join_attribute(first: Value | None, second: Value | None) -> Value:
    if first is None or second is None:
        return first or second or Value()
    return join_values(first, second)


def add_merged_objects(joined: State) -> None:
    """What is one object on one path and another on the other gets a state of its own."""
    held = [joined.env, *(known.attributes for known in joined.objects.values() if known.attributes)]
    merged = [token for values in held for value in values.values() if (token := value.token) and "|" in token]
    for token in merged:
        if token in joined.objects:
            continue
        parts = [joined.objects[part] for part in token.split("|") if part in joined.objects]
        if parts:
            joined.objects[token] = reduce(join_objects, parts)
