"""One file through the placement analysis: its values, its constraints, its conflicts."""

import ast
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from itertools import takewhile
from typing import Any

from devfix_codemods.ir import Function, Node, Op, lower
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.nodes import contradictory, forget
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.callers import given_by_callers, objects_given
from devfix_codemods.placement.calls import local_calls
from devfix_codemods.placement.combined_evidence import combined, with_independent_paths
from devfix_codemods.placement.constraints import Constraints
from devfix_codemods.placement.displays import LEFT
from devfix_codemods.placement.fed_models import COPIED_RESULT, FED
from devfix_codemods.placement.given_on_host import GivenOnHost
from devfix_codemods.placement.graph import MADE, OF_BATCHES, Birth, Graph, Source, Turn
from devfix_codemods.placement.handed_tests import name_tests_once
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.imported_values import imported_values
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.left_parts import LeftParts
from devfix_codemods.placement.naming import is_for_tests_or_data
from devfix_codemods.placement.origins import Origins
from devfix_codemods.placement.other_files import is_plain
from devfix_codemods.placement.places import HOST, Where
from devfix_codemods.placement.search import Conflict, ends
from devfix_codemods.placement.strengths import STRENGTHS
from devfix_codemods.placement.unmoved_copies import COPIED
from devfix_codemods.placement.wanted_on_host import HOST_WINS, is_left_with_its_result, without_neighbours
from devfix_codemods.placement.while_made import is_while_made
from devfix_codemods.source import Source as File


class Analysis:
    """What is known of where the values of one file live."""

    def __init__(self, tree: ast.Module, imported: ImportedDefinitions | None = None, file: File | None = None) -> None:
        imported = imported or ImportedDefinitions()
        module = lower(tree, imported.brought)
        imported.is_of(module)
        given = {**given_by_callers(module, imported), **imported_values(module, imported)}
        calls = local_calls(module, objects_given(module, given, imported))
        kinds = Kinds(module, calls, imported, given)
        name_tests_once(kinds)
        self._read(file, kinds, frozenset())
        self._shared: tuple[object, ...] = ()
        """What belongs to the reading that this one was derived from."""

    def _read(self, file: File | None, kinds: Kinds, undone: Set[ast.AST]) -> None:
        self.module = kinds.module
        self.file = file
        self.kinds = kinds
        self._begun = Constraints(kinds, file.path if file is not None else "", undone)
        self._ends: dict[Source, list[Conflict]] = {}
        self.written: dict[Conflict, tuple[bool, bool]] = {}
        """Whether a conflict has a fix that is more than a suggestion, and a safe one, as far as that was asked."""
        self.remedies: dict[Conflict, Any] = {}
        """What `repairs` makes of conflicts, as far as that was asked: this part knows no fixes."""

    @cached_property
    def constraints(self) -> Constraints:
        """What is known of the places of values. Where none begins on the host, nobody may ever ask."""
        self._begun.build()
        return self._begun

    @property
    def births(self) -> Births:
        """What this file alone says of where values begin and are moved, for which nothing has to be followed."""
        return self._begun.births

    @property
    def calls(self) -> dict[Node, Function]:
        """The calls that surely run a function of this file, with that."""
        return self.kinds.calls

    @property
    def origins(self) -> Origins:
        return self.births.origins

    @property
    def graph(self) -> Graph:
        return self.constraints.graph

    def without(self, calls: Set[ast.AST]) -> "Analysis":
        """The same file, read as if what `calls` move or make stayed where it was: what would it meet?

        It has the values and their kinds from this one, and has to be forgotten before it.
        """
        found = Analysis.__new__(Analysis)
        found._read(self.file, self.kinds, calls)
        found._shared = (self.kinds, self.kinds.imported)
        return found

    def text(self, expression: ast.expr) -> str:
        """An expression as the file spells it, on one line."""
        spelled = "\n"
        if self.file is not None and hasattr(expression, "lineno"):
            spelled = self.file.segment(self.file.span(expression))
        return ast.unparse(expression) if "\n" in spelled else spelled

    @cached_property
    def conflicts(self) -> list[Conflict]:
        """The strongest conflict of each birth, the strongest first."""
        if not self.births.are_any_on_host:
            return []
        found = [one for source in self._births() if (one := self._strongest(source)) is not None]
        told = [one for one in found if not self._is_left_inside(one)]
        return sorted(told, key=lambda one: (-one.confidence, one.birth.node.index))

    def _is_left_inside(self, conflict: Conflict) -> bool:
        """Whether a part of a batch is given to a function that names it in a row of moves, and leaves it there."""
        return conflict.birth.birth is Birth.LOADER and any(
            step.edge.site > 0 and any(one.link == LEFT for one in self.graph.edges[step.node])
            for step in conflict.path[:1]
        )

    def _births(self) -> Iterator[Source]:
        for sources in list(self.graph.sources.values()):
            yield from (source for source in sources if source.is_on_host)

    def is_loss(self, call: Node) -> bool:
        """Whether a call computes a loss: of torch, by its name, or of what a model gave, on the way to `backward`."""
        if self.kinds.is_loss(call.args[0]) or call in self.kinds.losses_by_name:
            return True
        trained = call in self.kinds.differentiable or self.kinds.is_trained(call.args[0])
        return trained and any(map(self._is_computed, call.args[1:]))

    def _is_computed(self, node: Node) -> bool:
        """Whether a value on the way to `backward` is the result of a call that does more than move or convert it."""
        root = next(iter(self.births.roots(node)), node)
        if root.op is not Op.CALL:
            return False
        return root in self.kinds.differentiable or self.kinds.is_trained(root.args[0])

    def ends(self, birth: Source) -> list[Conflict]:
        """All that `birth` shares its place with, the strongest first."""
        strongest: dict[Source, Conflict] = {}
        for one in self._ways(birth):
            strongest.setdefault(one.end, one)
        return list(strongest.values())

    def _ways(self, birth: Source) -> list[Conflict]:
        """The same, once more for each way to an end that begins with a hint of another sort."""
        found = self._ends.get(birth)
        if found is None:
            found = [one for one in ends(self.graph, birth) if _is_told(one)]
            found = self._ends[birth] = [one for one in found if not is_while_made(one, self.constraints)]
        return found

    def itself(self, birth: Source) -> Conflict | None:
        """The strongest of the ways to what `birth` itself is, or may be; what it meets is not asked."""
        found = ends(self.graph, birth, _BACKWARDS)
        return next((one for one in found if _is_told(one) and not is_while_made(one, self.constraints)), None)

    def says_where(self, node: Node, by: Node) -> list[Conflict]:
        """All that says where a value is which `by` reads, the strongest first; its copies say nothing."""
        found = ends(self.graph, Source(node, HOST, Birth.READER, (), under=by.guard))
        return [one for one in found if one.end.birth is not Birth.COPIED and _is_told(one)]

    def ending_at(self, end: Source) -> Sequence[tuple[Conflict, Conflict]]:
        """The conflicts whose values meet what stands at `end`, each with the path there."""
        return self._by_end.get(end, ())

    @cached_property
    def _by_end(self) -> dict[Source, list[tuple[Conflict, Conflict]]]:
        found: dict[Source, list[tuple[Conflict, Conflict]]] = {}
        for one in self.conflicts:
            for each in self.ends(one.birth):
                found.setdefault(each.end, []).append((one, each))
        return found

    @cached_property
    def called(self) -> dict[str, list[Node]]:
        """The values that are read, or bound, by a plain name, by that."""
        found: dict[str, list[Node]] = {}
        for node in self.module.nodes():
            if isinstance(node.syntax, ast.Name):
                found.setdefault(node.syntax.id, []).append(node)
        return found

    def is_plain(self, parameter: Node) -> bool:
        """Whether callers in other files give a parameter what is surely no tensor."""
        return is_plain(self.births, parameter)

    @cached_property
    def given_on_host(self) -> GivenOnHost:
        """Which values are filled from the host, by all calls that are seen."""
        return GivenOnHost(self.graph, self.kinds)

    def forget(self) -> None:
        """Let go of all values, which hold one another. Nothing may be asked any more."""
        births = self.births
        for module in (self.module, *births.imported.own_modules) if not self._shared else ():
            forget(module)
        parts = [*vars(births).values(), births, self._begun]
        for part in (*parts, self.kinds, self._begun.graph):
            if type(part).__module__.startswith(__package__) and part not in self._shared:
                vars(part).clear()
        vars(self).clear()

    def _strongest(self, birth: Source) -> Conflict | None:
        """The best path to a device; none where the host is nearer, or where no use of the value asks for one."""
        if birth.birth in MADE | OF_BATCHES and self.constraints.joined.asks_for_no_device(birth.node):
            return None
        sources = self.graph.sources[birth.node]
        if birth.birth is Birth.READER and any(_is_chosen(one) or one.birth is Birth.LOADER for one in sources):
            return None
        found = self._ways(birth) if birth.birth in MADE else self.ends(birth)
        elsewhere = [one for one in found if not _is_host(one) and not self._ends_where_read(one)]
        elsewhere = [one for one in elsewhere if not self._is_told_at_call(one)]
        if birth.birth is Birth.LOADER:
            elsewhere = [one for one in elsewhere if not self._is_of_inner(one)]
        if birth.birth in OF_BATCHES and self.constraints.joined.is_moved(birth.node):  # so it meets others of the host
            elsewhere = [one for one in elsewhere if one.end.birth is not Birth.PARAMETER]
        if self._is_read_as_it_is(birth):  # so what it meets is on the host as well, unless the code moves that
            elsewhere = [one for one in elsewhere if one.end.place.where is not Where.CALLER]
        if any(one.end.birth is Birth.READER for one in found):  # numpy reads what is picked: so a caller is there
            elsewhere = [one for one in elsewhere if not (one.is_of_index and one.end.place.where is Where.CALLER)]
        if birth.birth in MADE | OF_BATCHES and elsewhere:
            elsewhere = [one for one in self._before_moves(birth, elsewhere, found) if not self._is_read_behind(one)]
            elsewhere = [one for one in elsewhere if not is_left_with_its_result(one, found)]
        elsewhere = without_neighbours(elsewhere, found) if birth.birth in _LEFT_ON_HOST else elsewhere
        if birth.by is not None and birth.by.op is Op.ITEM:  # what is not moved here may be on the host as well
            elsewhere = [one for one in elsewhere if one.end.birth is Birth.MOVE]
        if birth.birth is Birth.READER:
            elsewhere = [self._weighed(one) for one in elsewhere if not self._is_settled(one, found)]
        if birth.birth is Birth.MODULE and birth.node.op is Op.CALL and elsewhere:
            return with_independent_paths(elsewhere)
        if birth.birth in MADE | OF_BATCHES and elsewhere:
            return combined(elsewhere)
        return elsewhere[0] if elsewhere else None

    def _before_moves(self, birth: Source, elsewhere: list[Conflict], found: list[Conflict]) -> list[Conflict]:
        """Those of its conflicts that a value has before what is computed of it, or what it is put into, is moved."""
        moves = self.constraints.moved_later.moves(birth.node)
        filled = (one for one in found if _is_host(one) and one.end.birth in MADE and not one.begins_beside)
        if not moves and not any(one.confidence >= SURELY_MET and self.births.moves_of(one.end.node) for one in filled):
            return elsewhere
        kept = (one for one in elsewhere if one.end.node not in moves or _FIELDS.isdisjoint(one.links))
        return [one for one in kept if not _asks_others(one)]

    def _is_read_behind(self, conflict: Conflict) -> bool:
        """Whether numpy reads a value as it is behind what it meets: so it met that on the host."""
        if conflict.birth.birth not in MADE or conflict.meeting is None or conflict.is_of_index:
            return False  # what an index picks from goes to numpy behind it
        met = conflict.meeting.node
        before = takewhile(lambda step: step.edge.turn is not Turn.MEET, conflict.path)
        return any(
            source.birth is Birth.READER and source.guard <= conflict.guard
            for node in (conflict.birth.node, *(step.node for step in before))
            for source in self.graph.sources.get(node, ())
            if source.by is not None and source.by.function is met.function and source.by.index > met.index
        )

    def _is_told_at_call(self, conflict: Conflict) -> bool:
        """Whether a value is misplaced where a call gives it, which is told by itself: other calls are fine."""
        return any(step.node in self.births.left_by_calls for step in conflict.path)

    def _is_of_inner(self, conflict: Conflict) -> bool:
        """Whether the value holds a loader, or is one: a part of a part comes from that, and is told by itself."""
        parts = [step.node for step in conflict.path if step.edge.turn is Turn.OUT]
        return any(one.birth in OF_BATCHES for part in parts[1:] for one in self.graph.sources.get(part, ()))

    def _is_read_as_it_is(self, birth: Source) -> bool:
        """Whether numpy reads a value wherever it is made."""
        return birth.birth is not Birth.READER and any(
            one.birth is Birth.READER and one.under <= birth.guard for one in self.graph.sources[birth.node]
        )

    def _ends_where_read(self, conflict: Conflict) -> bool:
        """Whether the path leads by what a caller gives, of which numpy reads a part as it is: it is on the host."""
        on_the_way = (whole(conflict.end.node), *(step.node for step in conflict.path))
        return conflict.birth.birth is not Birth.READER and any(
            one.guard <= conflict.guard for node in on_the_way for one in self._read_parts.get(node, ())
        )

    @cached_property
    def _read_parts(self) -> dict[Node, list[Source]]:
        """What numpy reads of the parameters."""
        found: dict[Node, list[Source]] = {}
        for node, sources in self.graph.sources.items():
            base = whole(node)
            if base.op is Op.PARAM and base is not node:
                found.setdefault(base, []).extend(one for one in sources if one.birth is Birth.READER)
        return found

    def _weighed(self, conflict: Conflict) -> Conflict:
        """The conflict of a reader, which proves less in files of tests and of data."""
        if self.file is None or not is_for_tests_or_data(self.file.path):
            return conflict
        weaker = conflict.confidence * STRENGTHS["read-in-tests"]
        return replace(conflict, confidence=weaker, links=(*conflict.links, "read-in-tests"))

    def _is_settled(self, conflict: Conflict, found: list[Conflict]) -> bool:
        """Whether what is read is on the host after all: by another path to it that makes no further choice, or as all
        callers of the function bring it there; what is there on another branch is here on a device."""
        given = self.constraints.kinds.is_given(conflict.end.node)
        if (given and not _is_copied_where_asked(conflict, found)) or self._is_left(conflict):
            return True
        if conflict.end.birth is Birth.COPIED and self.given_on_host.is_on_host(conflict.birth.node):
            return True  # that it is detached only looks as if it came from a device
        same = self._is_part_of_given(conflict.birth.node) and not conflict.callers
        hosts = [
            one
            for one in found
            if _is_host(one)
            and not LEFT_BEHIND.intersection(one.end.links)
            and one.confidence >= HOST_WINS * conflict.confidence
            and not MAYBE_MADE.intersection(one.end.links)
            and not _stays_elsewhere(one, conflict)
            and not any(step.edge.link.startswith("index") for step in one.path)  # which may pick from a device
        ]
        known = any(one.confidence > conflict.confidence and not one.comes_from_callers for one in hosts)
        return (
            known or any(same or one.callers <= conflict.callers for one in hosts) or self._all_bring(conflict, hosts)
        )

    def _all_bring(self, conflict: Conflict, hosts: list[Conflict]) -> bool:
        """Whether what only looks as if it came from a device is a copy of what each of the callers has on the host."""
        function = conflict.birth.node.function
        guessed = conflict.end.birth is Birth.COPIED and not self.kinds.is_handed_on(function)
        calls = self.kinds.all_calls(function) if guessed else []
        given = all(map(self._is_part_of_given, self.births.roots(conflict.birth.node) or {conflict.birth.node}))
        sites = {-site for one in hosts for site in one.callers}
        return bool(calls) and given and sites.issuperset(call.index + 1 for call in calls)

    def _is_left(self, conflict: Conflict) -> bool:
        """Whether only a caller may have put on a device what the function, that moves its like, leaves as it is."""
        on_the_way = (conflict.birth.node, *(step.node for step in conflict.path))
        return conflict.end.birth is Birth.PARAMETER and any(one in self._left for one in on_the_way)

    @cached_property
    def _left(self) -> LeftParts:
        return LeftParts(self.births)

    def _is_part_of_given(self, node: Node) -> bool:
        """Whether a value is part of a parameter, all arguments for which stand in this file."""
        return self.kinds.is_given(whole(node, {Op.ITEM, Op.ITER}))


def _asks_others(conflict: Conflict) -> bool:
    """Whether what stands beside a value, or a parameter of which little is known, says where it belongs."""
    return conflict.begins_beside or conflict.end.links in _OF_CALLERS


_LEFT_ON_HOST = MADE | OF_BATCHES | {Birth.MODULE}
_FIELDS = frozenset({"field", "field-of-constructor", "field-rewritten", "field-carried"})
"""Links by which a value of an earlier statement is taken for one that a later statement leaves."""
_OF_CALLERS = frozenset({("parameter",), ("unread",)})
_BACKWARDS = frozenset({Turn.DOWN, Turn.SAME})
_OF_ITSELF = frozenset({Turn.UP, Turn.SAME, Turn.OUT})
"""Ways from a value to its copies, and to parts of it."""
SURELY_MET = 0.8
"""How sure it must be that a value meets one that is moved afterwards."""
MAYBE_MADE = frozenset({"built-by-unknown", "built-of-options", "maybe-bare"})
"""What may have been made by a call that is not read, or only handed on: this settles nothing."""
LEFT_BEHIND = frozenset({"kept-by-chooser", "kept-beside-constant", "fed-beside-device", COPIED, COPIED_RESULT})
"""Values that are misplaced themselves, as the code around them says."""


def _is_copied_where_asked(conflict: Conflict, found: list[Conflict]) -> bool:
    """Whether what the program copies to the host is where something is that it asks for its device: callers that
    stand in the file say no more."""
    asked = any("beside-asked" in one.end.links and one.end.place.where is Where.CALLER for one in found)
    return asked and conflict.end.birth is Birth.COPIED


def _is_chosen(source: Source) -> bool:
    """Whether a program takes a value to the host, or to where it is told, which may be the host."""
    return source.birth is Birth.CHOSEN_HOST or (source.birth is Birth.MOVE and not source.place.sure)


def _is_told(conflict: Conflict) -> bool:
    """Where a model is that a caller gives matters to encodings that the model is called with, and to nothing else.

    What follows the value itself is where it is, and so is a part of it that a function is given.
    """
    given = conflict.end.place.where is Where.CALLER and {one.edge.turn for one in conflict.path} <= _OF_ITSELF
    if conflict.end.place.node is conflict.birth.node or (given and conflict.birth.birth in OF_BATCHES):
        return False
    if "module-parameter" not in conflict.end.links or FED in conflict.links:
        return True
    called = any(one.startswith("module-call") for one in conflict.links)
    return conflict.birth.birth is Birth.ENCODING and called


def _stays_elsewhere(host: Conflict, moved: Conflict) -> bool:
    """Whether a value stays on the host on another branch than that on which the program moves it."""
    chosen = host.end.birth is Birth.CHOSEN_HOST or moved.end.birth is not Birth.MOVE
    return not chosen and contradictory(host.guard, moved.guard)


def _is_host(conflict: Conflict) -> bool:
    return conflict.end.place.where is Where.HOST
