"""Places: where a value lives, and how two places relate.

A place is symbolic. It is compared by structure, so the same expression evaluated twice names the same place.
"""

from dataclasses import dataclass

from devfix_codemods.members import Enum, auto


@dataclass(frozen=True, slots=True)
class Host:
    """The host's memory, for certain."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device given by a constant: `cuda`, `cuda:1`, `mps`."""

    name: str

    @property
    def type(self) -> str:
        return self.name.partition(":")[0]


@dataclass(frozen=True, slots=True)
class Symbol:
    """Where an unnamed thing lives: `token` identifies a parameter, an attribute, the result of a call.

    `chosen` says that the program names it as a device (`.to(device)`), as against the place of some tensor.
    """

    token: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several places, decided when the program runs: `"cuda" if torch.cuda.is_available() else "cpu"`."""

    options: frozenset["Place"]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known. It never produces a finding by itself."""


@dataclass(frozen=True, slots=True)
class Anywhere:
    """No place is needed: a module without parameters works wherever its input is."""


Place = Host | Device | Symbol | Choice | Unknown | Anywhere

HOST = Host()
ANYWHERE = Anywhere()
UNKNOWN = Unknown()


class Relation(Enum):
    SAME = auto()
    DIFFERENT = auto()
    UNKNOWN = auto()


def choice(*places: Place) -> Place:
    """The place that is one of `places`; Unknown as soon as one of them is."""
    options: set[Place] = set()
    for place in places:
        options |= place.options if isinstance(place, Choice) else {place}
    if UNKNOWN in options or not options:
        return UNKNOWN
    return options.pop() if len(options) == 1 else Choice(frozenset(options))


def join(first: Place, second: Place) -> Place:
    """The place of a value after two branches: Unknown where they disagree."""
    if first == second or second == ANYWHERE:
        return first
    return second if first == ANYWHERE else UNKNOWN


def may_be_device(place: Place) -> bool:
    """Whether the program itself puts values of `place` on an accelerator, at least sometimes."""
    match place:
        case Device():
            return True
        case Symbol(chosen=chosen):
            return chosen
        case Choice(options=options):
            return any(may_be_device(one) for one in options)
    return False


def relation(first: Place, second: Place) -> Relation:
    """Whether tensors at two places may meet. DIFFERENT: on some run that the program provides for, they may not."""
    if {first, second} & {UNKNOWN, ANYWHERE}:
        return Relation.UNKNOWN
    if first == second:
        return Relation.SAME
    if isinstance(first, Host) or isinstance(second, Host):
        other = second if isinstance(first, Host) else first
        return Relation.DIFFERENT if may_be_device(other) else Relation.UNKNOWN
    if isinstance(first, Device) and isinstance(second, Device):
        return _devices(first, second)
    return Relation.UNKNOWN


def _devices(first: Device, second: Device) -> Relation:
    if first.type != second.type:
        return Relation.DIFFERENT
    indexed = ":" in first.name and ":" in second.name
    return Relation.DIFFERENT if indexed else Relation.SAME


def describe(place: Place) -> str:
    """The place in words, for messages."""
    match place:
        case Host():
            return "on the host"
        case Device(name=name):
            return f"on `{name}`"
        case Choice(options=options):
            names = sorted("cpu" if isinstance(one, Host) else describe(one).removeprefix("on ") for one in options)
            return "on " + " or ".join(name.strip("`") for name in names)
        case Symbol(token=token, chosen=True):
            return f"on `{token.rpartition('#')[2]}`"
    return "where it was made"
