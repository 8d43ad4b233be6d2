"""What may be done with a loaded value."""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto

from devfix_codemods.ir import Node, Op


class Use(Enum):
    """One sort of thing that is done with a loaded value."""

    FEEDS = auto()
    """Copied into a module or an optimizer, wherever that is."""
    FEEDS_NUMBERS = auto()
    """Given to a scheduler, a scaler, a sampler."""
    FEEDS_UNSURE = auto()
    """Given to what loads a state, and may keep the tensors."""
    READS = auto()
    """Looked at: keys, shapes, plain entries."""
    OPTIONS = auto()
    """The options of a model are read from it."""
    APART = auto()
    """Taken apart, as a mapping is."""
    MOVED = auto()
    STATES = auto()
    """States of random generators, which are always on the host."""
    KEPT = auto()
    """A plain entry that is moved on one path, and so is a tensor."""
    HELD = auto()
    """An attribute of an object gets it."""
    RESTORED = auto()
    """All attributes of an object get it: `setattr(self, key, value)`."""
    SAVED = auto()
    ON_HOST = auto()
    """Read as it is by numpy, or by what loaders read."""
    RETURNED = auto()
    RUN = auto()
    """The value itself is called, or asked for what modules have."""
    GIVEN = auto()
    """Given to code that is not read."""
    OTHER = auto()


LOOKS = frozenset({Use.READS, Use.OPTIONS, Use.APART})


@dataclass(slots=True)
class Uses:
    """All that is done with a loaded value. `values`: all that is it, or a part of it, and whether the whole of it."""

    found: dict[Use, list[Node]] = field(default_factory=lambda: defaultdict(list))
    values: dict[Node, bool] = field(default_factory=dict)
    meetings: list[tuple[Node, tuple[Node, ...]]] = field(default_factory=list)
    """Operations, and what else they get."""
    fed: set[Node] = field(default_factory=set)
    """The modules that it is copied into."""

    def __contains__(self, use: Use) -> bool:
        return use in self.found

    def only(self, *allowed: Use) -> bool:
        return self.found.keys() <= {*allowed}

    @property
    def moved(self) -> list[Node]:
        return self.found.get(Use.MOVED, [])


def unmoved(node: Node) -> Node:
    """A value before the methods that may have changed it in place."""
    while node.op is Op.AFTER:
        node = node.args[0]
    return node
