"""Conflicts: paths between a birth on the host and a value on a device, whose guards can hold together.

The search starts at a birth and takes the strongest constraints first. It carries the literals of its path, stops where
they contradict each other, and leaves a function only by the call through which it came in.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import exp

from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import joined
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.graph import Birth, Edge, Graph, Source, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.strengths import COSTS

FARTHEST = 1.6
"""The cost at which a path is too weak to be told: a confidence of 0.2."""
MOST_STATES = 1500
MOST_CALLS = 4
VISITS = 3
"""How many paths to a value are followed, under different guards."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One edge of a path, and the value that it leads to."""

    edge: Edge
    node: Node
    before: "Step | None"


@dataclass(frozen=True, slots=True, eq=False)
class Conflict:
    """A birth on the host, a source elsewhere, and the path between them: what is *same place*, and is not."""

    birth: Source
    end: Source
    path: tuple[Step, ...]
    guard: Guard
    confidence: float
    links: tuple[str, ...]

    @property
    def is_of_attribute(self) -> bool:
        """Whether the value is kept in an attribute, and meets in another method than made it."""
        return any(step.node.op is Op.FIELD and step.edge.turn is Turn.UP for step in self.path)

    @property
    def operations(self) -> Iterator[Node]:
        """The operations on the path, in each of which a value meets another one."""
        before = self.birth.node
        for step in self.path:
            entered = any(before is one or before in one.args for one in step.node.args)
            if entered and step.edge.turn is Turn.MEET and not step.edge.link.startswith(_SUPPORTING):
                yield step.node
            before = step.node

    @property
    def meeting(self) -> Step | None:
        """The first operation on the path in which the value meets another one."""
        for index, step in enumerate(self.path):
            if step.edge.turn is Turn.MEET:
                following = self.path[index + 1 : index + 2]
                if following and following[0].edge.turn is not Turn.MEET and index + 1 < len(self.path):
                    continue
                return step
        return next((step for step in self.path if step.edge.turn is Turn.MEET), None)


_SUPPORTING = ("family", "twin", "loop-", "factories", "made-beside", "other-path", "unused")
"""Links that say where a value belongs, and not where it is."""
_BLOCKED = {Turn.UP: Turn.DOWN, Turn.IN: Turn.OUT}
"""What may not follow."""
_PARTS = frozenset({Birth.LOADER, Birth.SIBLING})


def _is_itself(source: Source, step: Step | None) -> bool:
    """Whether a caller's choice is no choice: the path came in by that call, or by a part of an object."""
    if source.place.where is not Where.CALLER or step is None:
        return False
    edge = step.edge
    return edge.site > 0 or (edge.turn is Turn.IN and source.links != ("forward-input",))


def ends(graph: Graph, birth: Source) -> list[Conflict]:
    """All sources that `birth` must share its place with, the strongest first, one for each value they stand at."""
    if not graph.host_only.isdisjoint(birth.guard):
        return []
    start_cost = sum(COSTS[link] for link in birth.links)
    order = count()
    queue: list[tuple[float, int, Node, Turn | None, tuple[int, ...], Guard, Step | None, bool]] = []
    heappush(queue, (start_cost, next(order), birth.node, None, (), birth.guard, None, birth.scalar))
    visits: dict[tuple[Node, Turn | None], list[tuple[tuple[int, ...], Guard]]] = {}
    found: list[Conflict] = []
    seen_ends: set[Source] = set()
    states = 0
    while queue and states < MOST_STATES:
        cost, _, node, came, calls, guard, step, scalar = heappop(queue)
        known = visits.setdefault((node, came), [])
        if len(known) >= VISITS or any(stack == calls and other <= guard for stack, other in known):
            continue
        known.append((calls, guard))
        states += 1
        stop = False
        if step is not None or birth.birth is Birth.READER:  # what numpy reads may itself be the move
            for source in graph.sources.get(node, ()):
                if source.birth is Birth.COPIED and birth.birth is not Birth.READER:
                    continue
                if step is None and not (source.birth is Birth.MOVE and source.place.sure):
                    continue
                stop = stop or (source.place.where is not Where.CALLER and source.birth is not Birth.SIBLING)
                if source in seen_ends or source is birth or _is_itself(source, step):
                    continue
                total = cost + sum(COSTS[link] for link in source.links)
                if total <= FARTHEST and not contradictory(source.guard, guard):
                    seen_ends.add(source)
                    found.append(_conflict(birth, source, step, guard, total))
        if stop:
            continue
        for edge in graph.edges.get(node, ()):
            turn = edge.turn
            if came is not None and turn is _BLOCKED[came]:
                continue
            if edge.scalars and scalar:
                continue
            if birth.birth is Birth.READER and edge.link.startswith(_SUPPORTING):
                continue  # what numpy reads belongs on the host
            if step is None and edge.other in birth.node.args and birth.birth in _PARTS:
                continue  # what it was unpacked from holds others as well
            if step is not None and edge.other is (step.before.node if step.before is not None else birth.node):
                continue
            further = cost + edge.cost
            if further > FARTHEST or contradictory(edge.guard, guard) or not graph.host_only.isdisjoint(edge.guard):
                continue
            stack = calls
            if edge.site:
                changed = _entered(calls, edge)
                if changed is None:
                    continue
                stack = changed
            state = (
                *(further, next(order), edge.other, turn if turn in _BLOCKED else None, stack),
                *(joined(guard, edge.guard), Step(edge, edge.other, step), _is_scalar(graph, node, edge.other, scalar)),
            )
            heappush(queue, state)
    return sorted(found, key=lambda one: -one.confidence)


def _is_scalar(graph: Graph, node: Node, other: Node, scalar: bool) -> bool:
    """Whether the path is at a 0-dim tensor, behind a step; what a reduction was made of is none."""
    if other in graph.scalars:
        return True
    return scalar and not (node in graph.scalars and other.index < node.index)


def _entered(calls: tuple[int, ...], edge: Edge) -> tuple[int, ...] | None:
    """The calls that the path is inside of, after an edge into or out of one; None where it leaves by another."""
    site = edge.site
    if site > 0:
        return (*calls, site) if len(calls) < MOST_CALLS else None
    if not calls:
        return calls
    return calls[:-1] if calls[-1] == -site else None


def _conflict(birth: Source, end: Source, step: Step | None, guard: Guard, cost: float) -> Conflict:
    path: list[Step] = []
    while step is not None:
        path.append(step)
        step = step.before
    path.reverse()
    crossed = [one.edge.link for at, one in enumerate(path) if not _is_second_half(path, at)]
    links = (*birth.links, *crossed, *end.links)
    return Conflict(birth, end, tuple(path), guard, exp(-cost), tuple(one for one in links if COSTS[one] > 0))


def _is_second_half(path: list[Step], at: int) -> bool:
    """Whether the edge leaves an operation that the one before entered by the same constraint."""
    here, before = path[at].edge, path[at - 1].edge if at else None
    return before is not None and here.turn is before.turn is Turn.MEET and here.link == before.link
