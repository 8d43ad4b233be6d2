"""Conflicts: paths between a birth on the host and a value on a device, whose guards can hold together.

The search starts at a birth and takes the strongest constraints first. It carries the literals of its path, stops where
they contradict each other, and leaves a function only by the call through which it came in.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from math import exp

from devfix_codemods.catalogue.torch import WEIGHTS
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import joined
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.device_conditions import asks_for_place
from devfix_codemods.placement.graph import GIVEN_ROW, OF_BATCHES, Birth, Edge, Graph, Source, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.strengths import COSTS

FARTHEST = 1.6
"""The cost at which a path is too weak to be told: a confidence of 0.2."""
MOST_STATES = 1500
MOST_CALLS = 4
VISITS = 3
"""How many paths to a value are followed, under different guards."""


@dataclass(slots=True, eq=False)
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
    def is_supported(self) -> bool:
        """Whether it rests on what stands beside the value, and not on meetings alone."""
        return any(one.startswith(_SUPPORTING) and one != "fits-dtype" for one in self.links)

    @property
    def begins_beside(self) -> bool:
        """Whether nothing but what stands beside the value leads from it."""
        return bool(self.path) and self.is_beside(self.path[0])

    @staticmethod
    def is_beside(step: Step) -> bool:
        """Whether a step leads to what only says where the value before it belongs."""
        return step.edge.link.startswith(_SUPPORTING)

    @property
    def together(self) -> float:
        """How sure it is that both belong in one place, wherever that is."""
        return self.confidence * exp(sum(COSTS[link] for link in self.end.links))

    @property
    def callers(self) -> frozenset[int]:
        """The calls that the path leaves functions by: one of several."""
        return frozenset(step.edge.site for step in self.path if step.edge.site < 0 and step.edge.turn is Turn.DOWN)

    @property
    def comes_from_callers(self) -> bool:
        """Whether the path leaves a function by a call that it did not enter it by."""
        entered = {-step.edge.site for step in self.path if step.edge.site > 0}
        return not self.callers <= entered

    @property
    def is_of_index(self) -> bool:
        """Whether the value is indexed by one that is elsewhere."""
        return self.meeting is not None and self.meeting.edge.link.startswith("index")

    @property
    def is_of_table(self) -> bool:
        """Whether the value is indexed, and no module is meant to carry it."""
        carried = self.is_of_attribute and self.end.place.where is not Where.DEVICE
        return self.is_of_index and not carried

    @property
    def is_of_copied_table(self) -> bool:
        """Whether the value picks from what was copied to the host."""
        return self.birth.by is not None and self.birth.by.op is Op.ITEM

    @property
    def is_of_weight(self) -> bool:
        """Whether the value weighs the parts of a loss."""
        if any(step.edge.link == "weighs" for step in self.path):
            return True
        meeting = self.meeting
        if meeting is None or meeting.node.op is not Op.CALL or not isinstance(meeting.node.extra, tuple):
            return False
        operand = meeting.before.node if meeting.before is not None else self.birth.node
        given = zip(meeting.node.args[1:], meeting.node.extra)
        return any(one is operand and word in WEIGHTS for one, word in given)

    @property
    def is_of_state(self) -> bool:
        """Whether the value first meets others as the state of a recurrent network."""
        return next((one.edge.link for one in self.path if one.edge.turn is Turn.MEET), "") == "recurrent-state"

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
        steps = [index for index, step in enumerate(self.path) if step.edge.turn is Turn.MEET]
        if steps and self.path[steps[0]].edge.link.startswith("index"):  # the operand follows at once
            return self.path[steps[0]]
        for index in steps:
            following = self.path[index + 1 : index + 2]
            if not following or following[0].edge.turn is Turn.MEET:
                return self.path[index]
        return self.path[steps[0]] if steps else None


_SUPPORTING = (
    *("family", "twin", "loop-", "factories", "filled-with", "put-into", "repeated-"),
    *("made-beside", "made-anew", "other-path", "unused", "fits", "modules", "arms", "forward-output"),
)
"""Links that say where a value belongs, and not where it is."""
_EXAMPLES = ("twin-", "factories-", "modules-", "arms-", "repeated-")
"""Those of them that need not hold where the value is."""
_BLOCKED = {Turn.UP: Turn.DOWN, Turn.IN: Turn.OUT}
"""What may not follow."""
_SUPPOSED = frozenset({Birth.SIBLING, Birth.COPIED})
"""What others say of where a value comes from: its own making may say otherwise."""


def _is_example(edge: Edge, before: Step | None) -> bool:
    """Whether an edge leads to what only shows where the value belongs: on another path, under another condition."""
    if edge.link == "other-path":
        return before is not None and before.edge.link == edge.link
    return edge.link.startswith(_EXAMPLES)


def _is_itself(source: Source, step: Step | None) -> bool:
    """Whether a caller's choice is no choice: the path came in by that call, or by a part of an object; and whether a
    module is where it is, as the path came in by a call of its method."""
    if source.place.where is Where.MODULE and step is not None and step.before is not None:
        inside = step.before
        return inside.edge.site > 0 and inside.node is inside.node.function.self_node
    if source.place.where is not Where.CALLER or step is None:
        return False
    edge = step.edge
    if edge.link == GIVEN_ROW:
        return False
    return edge.site > 0 or (edge.turn is Turn.IN and source.links != ("forward-input",))


def _ends_path(source: Source, guard: Guard) -> bool:
    """Whether what stands at a source has no place but that one, wherever the path leads."""
    if source.place.where is Where.CALLER or source.birth in _SUPPOSED:
        return False
    return source.under <= guard


def ends(graph: Graph, birth: Source, turns: Container[Turn] | None = None) -> list[Conflict]:
    """All sources that `birth` must share its place with, the strongest first, and again for each sort of hint.

    Only edges of `turns` are followed, where these are given.
    """
    return [] if not graph.host_only.isdisjoint(birth.guard) else _Search(graph, birth, turns).run()


@dataclass(slots=True, eq=False)
class _State:
    """Where a path has come to: how weak it is, by which turn, inside of which calls, and under which condition."""

    cost: float
    node: Node
    came: Turn | None
    calls: tuple[int, ...]
    guard: Guard
    step: Step | None
    scalar: bool
    hint: str = ""
    """The link that the path began by, if that only says where the value belongs."""


class _Search:
    """One search, from one birth."""

    def __init__(self, graph: Graph, birth: Source, turns: Container[Turn] | None) -> None:
        self._graph = graph
        self._turns = turns
        self._birth = birth
        self._reads = birth.birth is Birth.READER
        self._answers = asks_for_place(birth.node.function, birth.guard)
        """Whether the value is made behind a question for a device: others, for another answer, show nothing."""
        self._order = count()
        self._queue: list[tuple[float, int, _State]] = []
        self._visits: dict[tuple[Node, Turn | None, str], list[tuple[tuple[int, ...], Guard]]] = {}
        self._found: dict[tuple[Source, str], Conflict] = {}

    def run(self) -> list[Conflict]:
        birth = self._birth
        cost = sum(COSTS[link] for link in birth.links)
        self._push(_State(cost, birth.node, None, (), birth.guard, None, birth.scalar))
        states = 0
        while self._queue and states < MOST_STATES:
            state = heappop(self._queue)[2]
            if self._is_known(state):
                continue
            states += 1
            ended = self._arrive(state)
            for edge in self._graph.edges.get(state.node, ()):
                if not ended or edge.link.startswith("index"):  # also where it is known, what indexes it must fit
                    self._follow(state, edge)
        return sorted(self._found.values(), key=lambda one: -one.confidence)

    def _push(self, state: _State) -> None:
        heappush(self._queue, (state.cost, next(self._order), state))

    def _is_known(self, state: _State) -> bool:
        """Whether the value was reached before, by a path that could go on as this one can."""
        known = self._visits.setdefault((state.node, state.came, state.hint), [])
        if len(known) >= VISITS:
            return True
        for calls, guard in known:
            if calls == state.calls and guard <= state.guard:
                return True
        known.append((state.calls, state.guard))
        return False

    def _arrive(self, state: _State) -> bool:
        """Note the sources that stand here; whether the path ends."""
        if state.step is None and not self._reads:
            return False
        ended = False
        for source in self._graph.sources.get(state.node, ()):
            if source.birth is (Birth.READER if self._reads else Birth.COPIED):
                continue
            ended = ended or _ends_path(source, state.guard)
            itself = _is_itself(source, state.step) and (not self._reads or source.birth is not Birth.PARAMETER)
            if (source, state.hint) in self._found or source is self._birth or itself:
                continue
            cost = state.cost + sum(COSTS[link] for link in source.links)
            # behind an example, who wants something else on the host, under another condition, is none
            guard = state.guard if source.place.where is not Where.HOST else joined(state.guard, self._birth.guard)
            if cost <= FARTHEST and not contradictory(source.guard, guard):
                self._found[source, state.hint] = _conflict(self._birth, source, state.step, state.guard, cost)
        return ended

    def _follow(self, state: _State, edge: Edge) -> None:
        if self._is_barred(state, edge):
            return
        cost = state.cost + edge.cost
        example = not self._answers and _is_example(edge, state.step)
        if (
            cost > FARTHEST
            or (edge.guard and not example and contradictory(edge.guard, state.guard))
            or not self._graph.host_only.isdisjoint(edge.guard)
        ):
            return
        calls = _entered(state.calls, edge) if edge.site else state.calls
        if calls is None:
            return
        turn = edge.turn if edge.turn in _BLOCKED else None
        hint = state.hint if state.step is not None else edge.link if edge.link.startswith(_SUPPORTING) else ""
        if len(self._visits.get((edge.other, turn, hint), ())) >= VISITS:
            return
        step = Step(edge, edge.other, state.step)
        scalar = _is_scalar(self._graph, state.node, edge.other, state.scalar)
        guard = edge.guard if example else joined(state.guard, edge.guard)
        self._push(_State(cost, edge.other, turn, calls, guard, step, scalar, hint))

    def _is_barred(self, state: _State, edge: Edge) -> bool:
        """Whether the kinds of the constraint and of the value forbid to go on by it."""
        if state.came is not None and edge.turn is _BLOCKED[state.came]:
            return True
        if self._turns is not None and edge.turn not in self._turns:
            return True
        if edge.scalars and state.scalar:
            return True
        if self._reads and edge.link.startswith(_SUPPORTING):
            return True  # what numpy reads belongs on the host
        birth = self._birth
        if state.step is None:  # what it was unpacked from holds others as well
            return edge.other in birth.node.args and birth.birth in OF_BATCHES
        return edge.other is (state.step.before.node if state.step.before is not None else birth.node)


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
    told = any(one.startswith(_EXAMPLES) for one in crossed[:1]) or _takes_no_scalars(path)
    born = tuple(one for one in birth.links if one != "maybe-scalar" or not told)
    doubts = ("met-as-number",) if "maybe-scalar" in born and _takes_scalars(path) else ()
    cost += sum(COSTS[link] for link in doubts) - sum(COSTS[link] for link in birth.links if link not in born)
    links = (*born, *doubts, *crossed, *end.links)
    return Conflict(birth, end, tuple(path), guard, exp(-cost), tuple(one for one in links if COSTS[one] > 0))


def _takes_scalars(path: list[Step]) -> bool:
    """Whether the first operation that the value takes part in would take a 0-dim tensor from anywhere."""
    return next((one.edge.scalars for one in path if one.edge.turn is Turn.MEET), False)


def _takes_no_scalars(path: list[Step]) -> bool:
    """Whether the first operation that the value takes part in refuses a 0-dim tensor from elsewhere as any other."""
    first = next((one.edge for one in path if one.edge.turn is Turn.MEET), None)
    return first is not None and first.link == "operation" and not first.scalars


def _is_second_half(path: list[Step], at: int) -> bool:
    """Whether the edge leaves an operation that the one before entered by the same constraint."""
    here, before = path[at].edge, path[at - 1].edge if at else None
    return before is not None and here.turn is before.turn is Turn.MEET and here.link == before.link
