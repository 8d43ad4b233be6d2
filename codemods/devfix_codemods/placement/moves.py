"""Moves: of what, and where to, with what functions of the file move and with calls that are not read but told a
device."""

from collections import defaultdict
from collections.abc import Set

from devfix_codemods.catalogue import Kind, method_effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.guards import covers, held_at_end
from devfix_codemods.placement import imported_calls
from devfix_codemods.placement.arguments import keyword, loaded_to, replaced
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.device_conditions import asks_for_place
from devfix_codemods.placement.graph import Birth, Graph, Source
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import CUDA, HOST, Place, Where, place_of
from devfix_codemods.placement.replaced_parts import speaks_of_moving
from devfix_codemods.placement.roots import Roots
from devfix_codemods.placement.targets import Targets, moving_call


class Moves:
    """The moves of one file, which it adds to the graph one by one, and to what the roots of values are."""

    def __init__(
        self,
        kinds: Kinds,
        graph: Graph,
        calls: dict[Node, Function],
        targets: Targets,
        roots: Roots,
        imported: ImportedDefinitions,
        read_elsewhere: Set[Node],
    ) -> None:
        self._kinds = kinds
        self._graph = graph
        self._calls = calls
        self._targets = targets
        self._roots = roots
        self._imported = imported
        self._read_elsewhere = read_elsewhere
        self.places: dict[Node, Place] = {}
        """Each call that moves, and where to."""
        self._called: dict[Node, Place] = {}
        """Each call of a function of this file that moves what it gets, and where to."""
        self.movers: dict[Node, list[Node]] = defaultdict(list)
        """The moves of each value, by what it was unpacked or made as."""
        self.in_place: set[Node] = set()
        """Each `AFTER` whose statement moved a module."""
        self.sent_to_host: set[Node] = set()
        """What is copied to the host on purpose."""

    # What others ask

    def of(self, node: Node) -> list[Node]:
        """The moves of a value to a device."""
        return [one for one in self.movers.get(node, ()) if self.is_elsewhere(one)]

    def may_miss(self, moves: list[Node], value: Node) -> bool:
        """Whether all moves stand behind conditions, which ask for something else than a device, that a value of the
        same function need not fulfil: what is asserted holds on all ways out of it."""
        held = value.guard | held_at_end(value.function)
        conditions = [one.guard - held for one in moves if one.function is value.function]
        host = self._graph.host_only
        if not moves or len(moves) != len(conditions) or covers(conditions):
            return False
        return all(
            any((atom, not holds) not in host for atom, holds in one) and not asks_for_place(value.function, one)
            for one in conditions
        )

    def is_sent_to_host(self, node: Node) -> bool:
        """Whether a value is copied to the host on purpose."""
        return node in self.sent_to_host

    def is_taken_back(self, attribute: str) -> bool:
        """Whether some line takes what an attribute of that name keeps to the host."""
        moved = (one.args[0] for one in self.in_place if not self.is_elsewhere(one))
        return any(one.op is Op.ATTR and one.extra == attribute for one in (*self.sent_to_host, *moved))

    def is_elsewhere(self, move: Node) -> bool:
        """Whether a move is not one to the host."""
        place = self.place_of(move) or (self._targets.of(move) if move.op is Op.CALL else None)
        return place is None or place.where is not Where.HOST

    def place_of(self, move: Node) -> Place | None:
        """Where a move takes what it moves."""
        if move.op is Op.AFTER:
            return self._targets.of(moving_call(move.args[1]))
        return self.places.get(move) or self._called.get(move)

    def is_moving_call(self, node: Node) -> bool:
        """Whether what is called, and not read, is told a device: then it places what it gets, and what it gives."""
        if node in self._calls or node in self._read_elsewhere:
            return False
        if len(node.args) > 1 and (speaks_of_moving(node.args[0]) or imported_calls.moves(self._imported, node)):
            return True
        if any(self._moves_leaves(one) for one in node.args[1:]):
            return True
        return any(
            (isinstance(one.extra, str) if one.op is Op.CONST else self._kinds.says(one, Kind.DEVICE))
            and (place := place_of(one, self._kinds)) is not None
            and place.where is not Where.HOST
            for one in node.args[1:]
        )

    def _moves_leaves(self, given: Node) -> bool:
        """`lambda leaf: leaf.to(device)`, which is called with all leaves of what stands beside it."""
        function = given.extra
        return (
            given.op is Op.FUNCTION
            and isinstance(function, Function)
            and any(
                self._targets.is_move(one)
                and self.is_elsewhere(one)
                and not self._roots.of(one).isdisjoint(function.parameters.values())
                for one in function.nodes
            )
        )

    # Moves by methods

    def method(self, call: Node, base: Node) -> None:
        """`x.cuda()`, `x.to(device)`"""
        place = self._targets.of(call)
        if place is None:
            if self._keeps_place(call) or self._targets.is_undone(call):
                self._graph.same(base, call, "certain", call.guard)
            return
        self.places[call] = place
        if place != HOST:
            self._record(call, base)
        else:
            self.sent_to_host |= self._roots.of(base)
        self.at(call, place)

    def typed(self, call: Node, base: Node) -> None:
        """`x.type(torch.cuda.FloatTensor)`"""
        if self._targets.is_undone(call):
            self._graph.same(base, call, "certain", call.guard)
            return
        self._graph.add(Source(call, CUDA, Birth.MOVE, ("move",)))
        self._record(call, base)
        self.places[call] = CUDA

    def constructed(self, call: Node) -> None:
        """`torch.cuda.FloatTensor(3)`"""
        if not self._targets.is_undone(call):
            self._graph.add(Source(call, CUDA, Birth.MOVE, ("move",)))

    def typed_as(self, call: Node, base: Node, like: Node) -> None:
        """`x.type_as(y)`, `x.type(y.type())`"""
        self._graph.same(like, call, "move", call.guard)
        self._record(call, base)

    def after(self, node: Node) -> None:
        """`net.cuda()`, a statement of its own, moves a module where it is."""
        if self._kinds.of(node.args[0]) is Kind.TENSOR:
            return
        place = self._targets.of(moving_call(node.args[1]))
        if place is None:
            return
        self.in_place.add(node)
        if place.where is Where.FOLLOWS:
            self._graph.same(place.node or node, node, "move", node.guard)
            return
        link = "move" if self._kinds.is_module(node.args[0]) else "move-by-name"
        self._graph.add(Source(node, place, _birth_at(place), (link,)))
        self._record(node, node.args[0])

    def copied_to_host(self, base: Node) -> None:
        """`x.cpu()`"""
        self.sent_to_host |= self._roots.of(base)

    def _record(self, move: Node, moved: Node) -> None:
        for one in self._roots.of(moved):
            self.movers[one].append(move)

    def _keeps_place(self, call: Node) -> bool:
        """`x.to(torch.float32)`, `x.to(dtype=…)`."""
        given = call.args[1:]
        return bool(given) and all(self._kinds.of(one) in {Kind.DTYPE, Kind.NUMBER, None} for one in given)

    # What is made where a call says

    def at(self, node: Node, place: Place) -> None:
        """`node` is moved to, or made at, a place."""
        if place.where is Where.FOLLOWS:
            if place.node is not None:
                self._graph.same(place.node, node, "move", node.guard)
            return
        self._graph.add(Source(node, place, _birth_at(place), ("move" if place.sure else "move-by-name",)))

    def placed_at(self, node: Node, device: Node) -> None:
        """`node` is where `device`, which is given to what makes it, says."""
        place = place_of(device, self._kinds)
        if place is not None:
            self.at(node, place)

    def placed(self, call: Node) -> None:
        """What `device=` says of the result of a call."""
        place = self._targets.told(call)
        if place is not None:
            self.at(call, place)
            self.places[call] = place

    def loaded(self, call: Node) -> None:
        """`torch.load(path, map_location=device)`"""
        device = loaded_to(call)
        place = place_of(device, self._kinds) if device is not None else None
        if place is not None and place.where is not Where.FOLLOWS:
            self._graph.add(Source(call, place, _birth_at(place), ("move-by-name",)))

    # Moves by functions

    def is_opaque(self, call: Node) -> bool:
        """`batch = to_device(batch, device)`, of which nothing is read; whether it is such a call."""
        callee = call.args[0]
        if (callee.op is Op.ATTR and method_effect(str(callee.extra)) is not None) or not self.is_moving_call(call):
            return False
        if self._kinds.is_module(call) or self._kinds.is_module(callee) or self._imported.class_of(callee) is not None:
            return False
        for one in replaced(call) or call.args[1:]:
            if self._kinds.of(one) in {None, Kind.TENSOR, Kind.SEQUENCE, Kind.MAPPING}:
                for root in self._roots.of(one):
                    self.movers[root].append(call)
                    self.places.setdefault(call, CUDA)
        if imported_calls.gives_back_on_host(self._imported, call):
            return False  # it needs the device for something else
        moves = speaks_of_moving(callee) or imported_calls.moves(self._imported, call)
        link = "moved-by-call" if moves else "given-device"
        self._graph.add(Source(call, self._given_place(call), Birth.MOVE, (link,)))
        return True

    def _given_place(self, call: Node) -> Place:
        """The one device that a call gets; CUDA where that is the host, or another value's, or none is told."""
        places = (place_of(one, self._kinds) for one in call.args[1:] if self._kinds.of(one) is Kind.DEVICE)
        told = {one for one in places if one is not None and one.where is Where.DEVICE}
        return told.pop() if len(told) == 1 else CUDA

    def told_host(self, call: Node) -> None:
        """`net = load(path, device="cpu")`, of which nothing is read."""
        device = keyword(call, "device")
        if call not in self._calls and device is not None and place_of(device, self._kinds) == HOST:
            self._graph.add(Source(call, HOST, Birth.CHOSEN_HOST, ("moved-by-call",)))

    def by_functions(self) -> None:
        """A call moves what it gets, if that is what the function does with it: `batch = to_cuda(batch)`."""
        for call, called in self._calls.items():
            given = {parameter: argument for argument, parameter in bound(call, called)}
            for parameter, argument in given.items():
                for root in self._roots.of(argument):
                    self.movers[root] += self.of(parameter)
            for value, _ in called.returns:
                self._given_back(call, value, given)

    def _given_back(self, call: Node, value: Node, given: dict[Node, Node]) -> None:
        """What a function returns is a parameter of it that was moved, or all elements of one."""
        move = value.args[0] if value.op is Op.COMPREHENSION else value
        place = self.places.get(move)
        if place is None or place.where is not Where.DEVICE or not self._targets.is_move(move):
            return
        device = given.get(place.node, place.node) if place.node is not None else None
        for root in self._roots.of(move):
            argument = given.get(root.args[0] if root.op is Op.ITER else root)
            if argument is not None:
                self._roots.called_with[call] = argument
                self._called[call] = Place(place.where, device)
                self._record(call, argument)


def _birth_at(place: Place) -> Birth:
    return Birth.CHOSEN_HOST if place == HOST else Birth.MOVE
