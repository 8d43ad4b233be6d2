"""The constraint graph: values, edges that say *same place* under a guard, and sources that say which place."""

from collections import defaultdict
from collections.abc import Container
from dataclasses import dataclass
from typing import NamedTuple

from devfix_codemods.ir import Guard, Node
from devfix_codemods.ir.guards import joined
from devfix_codemods.ir.nodes import ALWAYS, Literal
from devfix_codemods.members import Enum, auto
from devfix_codemods.placement.places import Place, Where
from devfix_codemods.placement.strengths import COSTS

GIVEN_ROW = "given-row"
"""The link from an element of a list of tensors to the list, which a caller gives."""


class Turn(Enum):
    """How an edge is walked along."""

    __hash__ = object.__hash__

    SAME = auto()
    """A copy or a view, in either direction."""
    UP = auto()
    """From one of several values to what may be any of them: a phi, an attribute, an element, a parameter."""
    DOWN = auto()
    """Back from there. What came up may not go down again: the values of a phi are alternatives, and do not meet."""
    OUT = auto()
    """From a container or an object to what it holds."""
    IN = auto()
    """From there to the whole. What came in does not go out to another part: parts need not be together."""
    MEET = auto()
    """Between an operand and the operation that needs all of its operands in one place."""


class Edge(NamedTuple):
    """A constraint between two values. `site` is the call that is entered (positive) or left, 0 for none."""

    other: Node
    turn: Turn
    link: str
    guard: Guard
    site: int = 0
    scalars: bool = False
    """A 0-dim tensor of the host may be at the other end."""
    cost: float = 0.0
    """How weak it is. An operation is crossed by two edges, each of which costs half."""


class Birth(Enum):
    """How a value came to be where it is; the kind of birth picks the repair."""

    __hash__ = object.__hash__

    FACTORY = auto()
    ARRAY = auto()
    """Made of an array of numpy, or of another thing of the host, by what takes no device."""
    LOADER = auto()
    SIBLING = auto()
    """Unpacked beside values that are moved."""
    ENCODING = auto()
    MODULE = auto()
    READER = auto()
    """Not born, but wanted on the host: by numpy."""
    MOVE = auto()
    PARAMETER = auto()
    COPIED = auto()
    """Not born, but copied to the host, as what is on a device is."""
    CHOSEN_HOST = auto()
    """Moved, or made, on the host on purpose."""


MADE = frozenset({Birth.FACTORY, Birth.ARRAY})
"""Births of tensors that are made where they are found."""
OF_BATCHES = frozenset({Birth.LOADER, Birth.SIBLING})
"""Births of what a batch was unpacked into."""


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What says that `node` is at `place`: its birth, a move, or its being a parameter."""

    node: Node
    place: Place
    birth: Birth
    links: tuple[str, ...]
    scalar: bool = False
    under: Guard = ALWAYS
    """Under which condition it is said, where that is not when the value is made: a reader's own."""
    by: Node | None = None
    """The call that reads it."""

    @property
    def guard(self) -> Guard:
        return joined(self.node.guard, self.under)

    @property
    def is_on_host(self) -> bool:
        """Whether the value is on the host, and not because the program wants it there."""
        return self.place.where is Where.HOST and self.birth is not Birth.CHOSEN_HOST


class Graph:
    """Edges and sources by value."""

    def __init__(self) -> None:
        self.edges: dict[Node, list[Edge]] = defaultdict(list)
        self.sources: dict[Node, list[Source]] = defaultdict(list)
        self.scalars: set[Node] = set()
        """0-dim tensors: reductions, and what was squeezed out of one element."""
        self.host_only: set[Literal] = set()
        """Literals under which nothing is on a device: the negations of those under which the program moves values.
        Where an error is expected, nothing is told either."""

    def same(self, one: Node, other: Node, link: str, guard: Guard) -> None:
        if one is not other:
            self.edges[one].append(Edge(other, Turn.SAME, link, guard, cost=COSTS[link]))
            self.edges[other].append(Edge(one, Turn.SAME, link, guard, cost=COSTS[link]))

    def flows(self, value: Node, into: Node, link: str, guard: Guard, site: int = 0) -> None:
        """`value` is one of those that `into` may be."""
        if value is not into:
            self.enters(value, into, link, guard, site)
            self.edges[into].append(Edge(value, Turn.DOWN, link, guard, -site, cost=COSTS[link]))

    def enters(self, value: Node, parameter: Node, link: str, guard: Guard, site: int) -> None:
        """`value` is met as `parameter` inside of a call; what is inside has its own word for where that is."""
        self.edges[value].append(Edge(parameter, Turn.UP, link, guard, site, cost=COSTS[link]))

    def part(self, part: Node, whole: Node, guard: Guard, link: str = "part") -> None:
        """`part` is read from `whole`."""
        self.edges[part].append(Edge(whole, Turn.IN, link, guard, cost=COSTS[link]))
        self.edges[whole].append(Edge(part, Turn.OUT, link, guard, cost=COSTS[link]))

    def meets(self, operand: Node, operation: Node, link: str, guard: Guard, *, scalars: bool = False) -> None:
        if operand is not operation:
            self.edges[operand].append(Edge(operation, Turn.MEET, link, guard, 0, scalars, COSTS[link] / 2))
            self.edges[operation].append(Edge(operand, Turn.MEET, link, guard, 0, scalars, COSTS[link] / 2))

    def writes(self, written: Node, other: Node, operation: Node, link: str) -> None:
        """`operation` leaves its result in `written`, which even as a 0-dim tensor must be where `other` is."""
        self.edges[written].append(Edge(operation, Turn.MEET, link, operation.guard, cost=COSTS[link] / 2))
        self.edges[operation].append(Edge(other, Turn.MEET, link, operation.guard, cost=COSTS[link] / 2))

    def supports(self, member: Node, move: Node, link: str, guard: Guard) -> None:
        """`member` probably belongs where `move` takes another one."""
        self.edges[member].append(Edge(move, Turn.MEET, link, guard, cost=COSTS[link]))

    def only_from(self, operation: Node, operand: Node, link: str, guard: Guard) -> None:
        """`operand` may stay on the host, but must not be elsewhere than the rest."""
        self.edges[operation].append(Edge(operand, Turn.MEET, link, guard, cost=COSTS[link] / 2))

    def add(self, source: Source) -> None:
        self.sources[source.node].append(source)

    def is_born(self, node: Node, births: Container[Birth]) -> bool:
        """Whether a value has a source of some sort."""
        return any(one.birth in births for one in self.sources.get(node, ()))

    def is_made(self, node: Node) -> bool:
        """Whether a value is a tensor that is made here."""
        return self.is_born(node, MADE)
