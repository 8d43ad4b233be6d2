"""Families: values that stand in a row, in one display or one call, or are made alike. Each that is moved supports the
move of those that are not."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import MAKES_ON_HOST, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.items import choices, is_slice
from devfix_codemods.ir.keys import key, names
from devfix_codemods.placement.arguments import is_none, reads_key, takes_name
from devfix_codemods.placement.calls import maker, method, returned_at
from devfix_codemods.placement.displays import left_in_displays
from devfix_codemods.placement.elements import link_of_part
from devfix_codemods.placement.fed_models import fed_models
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.indices import is_of_tensor
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.kept_modules import MOVING, kept_modules, moved_where_made
from devfix_codemods.placement.left_arms import left_arms
from devfix_codemods.placement.left_parts import LeftParts
from devfix_codemods.placement.left_reads import left_reads
from devfix_codemods.placement.manual_moves import is_thrown_away
from devfix_codemods.placement.non_tensors import is_given_attributes
from devfix_codemods.placement.parallel_statements import ParallelStatements
from devfix_codemods.placement.plain_tensors import PlainAttributes
from devfix_codemods.placement.rows_of_values import Row, rows_of_values
from devfix_codemods.placement.strengths import counted
from devfix_codemods.placement.together import Together, is_followed, supports
from devfix_codemods.placement.twin_loops import is_kept_with_copies, twin_loops
from devfix_codemods.placement.twin_values import twin_values
from devfix_codemods.placement.unmoved_copies import unmoved_copies
from devfix_codemods.placement.unused_devices import UnusedDevices

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_STEPS = 40


class Families:
    """Adds the edges of families to the graph of a file, and says of their members that they come from the host."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._graph = births.graph
        self._kinds = births.kinds
        self._module = births.module
        self._users = births.module.users
        self._joined = Joined(births)

    def all(self) -> None:
        for row in rows_of_values(self._births):
            self._row(row)
        left_in_displays(self._births)
        ParallelStatements(self._births, self._comes_from_outside, self._is_given_by_method).all()
        self._fields()
        twin_loops(self._births, self._joined)
        twin_values(self._births, self._joined)
        Together(self._births).all()
        kept_modules(self._births)
        moved_where_made(self._births)
        left_arms(self._births)
        left_reads(self._births, self._joined)
        devices = UnusedDevices(self._births)
        devices.all()
        unmoved_copies(self._births, devices)
        fed_models(self._births)
        PlainAttributes(self._births).all()
        self._copied_to_host()

    # Rows

    def _row(self, row: Row) -> None:
        members = [one for one in dict.fromkeys(row.values) if self._is_member(one)]
        moved = {one: moves for one in members if (moves := self._moves_of(one))}
        rest = [one for one in members if one not in moved and not (moved and self._is_moved_elsewhere(one))]
        moved = {one: moves for one, found in moved.items() if (moves := [*filter(self._takes_place, found)])}
        modules = {one: moves for one, moves in moved.items() if self._kinds.is_module(one)}
        for one in rest if modules else ():
            if self._is_module_taken_out(one) and not self._is_moved_where_given(one):
                self._births.made_beside(one)
                supports(self._graph, one, modules, "family")
        moved = {one: moves for one, moves in moved.items() if one not in modules}
        for one in rest if moved else ():
            kind = self._kinds.of(one)
            if self._kinds.says_surely(one, Kind.NUMBER) or self._are_options(one) or self._is_copied(one):
                continue  # a function may get either, a number or a tensor
            given = self._is_given_by_method(one) or self._is_given_with(one, moved)
            followed = is_followed(self._births, one, chain(*moved.values()))
            comes = (given or self._comes_from_outside(one)) and not followed
            if kind in {None, Kind.TENSOR} and comes and not self._joined.is_moved(one):
                link = "given-beside-moved" if given else self._link(one, row, lonely=len(moved) == 1)
                self._births.beside_moved(one, row.base, link)
                if self._is_input(one) or self._is_input_there(one, moved):
                    supports(self._graph, one, moved, "family-fed")
                elif kind is Kind.TENSOR or self._is_kept_beside(one, moved) or self._is_taken_beside(one):
                    supports(self._graph, one, moved, "family")

    def _link(self, part: Node, row: Row, *, lonely: bool) -> str:
        """How surely a part of a row was on the host as what is moved was, be that a `lonely` one among parameters."""
        if lonely and part.op is Op.PARAM:
            return "parameter-beside-moved"
        return "unpacked-beside-moved" if row.moves_on_the_spot else link_of_part(part, self._kinds)

    def _moves_of(self, node: Node) -> list[Node]:
        """The moves of a value, or of a slice of it: `targets[:, 1:].to(device)`."""
        parts = (one for one in self._users.get(node, ()) if one.op is Op.ITEM)
        slices = (one for one in parts if any(map(is_of_tensor, one.args[1:])))
        return self._births.moves_of(node) or [move for one in slices for move in self._births.moves_of(one)]

    def _are_options(self, node: Node) -> bool:
        """Whether a value gets attributes, as no tensor does, and is not called, as modules are."""
        called = any(one.op is Op.CALL and one.args[0] is node for one in self._users.get(node, ()))
        return is_given_attributes(node) and not called and not self._kinds.is_module(node)

    def _is_copied(self, node: Node) -> bool:
        """Whether all that is done with a value is to copy it to the host, under a test that it is there."""
        done = [one for one in self._users.get(node, ()) if one.op not in {Op.PHI, Op.COMPARE}]
        return bool(done) and all(one.op is Op.ATTR and one.extra in {"cpu", "numpy"} for one in done)

    def _is_module_taken_out(self, node: Node) -> bool:
        return (
            self._kinds.is_module(node) and node.op is Op.ITEM and not is_slice(node) and node not in self._births.owned
        )

    def _is_moved_where_given(self, part: Node) -> bool:
        """Whether the function of this file that gives a part has moved it: `net, head = load(device)`."""
        called = self._births.calls.get(part.args[0])
        values = returned_at(part, called) if called is not None else None
        return any(self._births.moves_of(root) for value, _ in values or () for root in self._births.roots(value))

    def _takes_place(self, move: Node) -> bool:
        """Whether the result of a move takes the place of what is moved: what only knows a device may make another."""
        links = {link for one in self._graph.sources.get(move, ()) for link in one.links}
        return "given-device" not in links or self._births.is_move(move) or takes_name(move)

    def _is_input(self, node: Node) -> bool:
        """Whether a module is called with a value: what else it gets is moved."""
        return any(
            call.op is Op.CALL and one in call.args[1:2] and self._takes_as_it_is(call.args[0])
            for one in (node, *self._kept_as(node))
            for call in self._users.get(one, ())
        )

    def _is_input_there(self, node: Node, moved: dict[Node, list[Node]]) -> bool:
        """`model.net(x)`, where `y` is moved to `model.device`: whether what is asked for the device gets a value."""
        asked = {_device_owner(self._births, move) for moves in moved.values() for move in moves} - {None}
        given = (one for one in self._users.get(node, ()) if asked and one.op is Op.CALL and node in one.args[1:])
        return any(key(one) in asked for call in given for one in _bases_of(call.args[0]))

    def _is_kept_beside(self, node: Node, moved: dict[Node, list[Node]]) -> bool:
        """`layer.x = x.to(device)`, `layer.y = y`: whether one object keeps a value, and those that are moved."""
        moves = {move for each in moved.values() for move in each}
        stores = [one for one in node.function.stores if one.is_attribute and one.base is not node.function.self_node]
        holders = {key(one.base) for one in stores if one.value in moves}
        return any(node in choices(one.value) and key(one.base) in holders for one in stores)

    def _is_taken_beside(self, node: Node) -> bool:
        """`relate(net, x=x.cuda(), y=y.cuda(), labels=labels)`: whether one call gets a value, and several others of
        which all are moved."""
        for call in self._users.get(node, ()):
            if call.op is Op.CALL and node in call.args[1:]:
                others = [one for one in call.args[1:] if one is not node and not self._kinds.is_module(one)]
                placed = [one for one in others if any(map(self._is_taken_away, choices(one)))]
                if len(placed) == len(others) > 1:
                    return True
        return False

    def _is_taken_away(self, node: Node) -> bool:
        return self._births.is_move(node) and self._births.is_elsewhere(node)

    def _kept_as(self, node: Node) -> Iterator[Node]:
        """What other methods read of an attribute that keeps a value."""
        function = node.function
        kept = {one.key for one in function.stores if one.value is node and one.base is function.self_node}
        for one in self._module.of(Op.ATTR) if kept and function.owner is not None else ():
            if one.extra in kept and one.args[0] is one.function.self_node and one.function.owner is function.owner:
                yield one

    def _takes_as_it_is(self, callee: Node) -> bool:
        """Whether a callee is a module that moves nothing of what it gets."""
        if (
            not self._kinds.is_module(callee)
            or self._kinds.is_loss(callee)
            or self._births.scatters(callee) is not None
        ):
            return False
        owner = self._births.class_of(callee)
        forward = method(owner, "forward") if owner is not None else None
        return forward is None or not any(self._births.moves_of(one) for one in forward.parameters.values())

    def _is_moved_elsewhere(self, node: Node) -> bool:
        return self._is_moved_later(node) or self._is_given_moved(node)

    def _is_given_moved(self, part: Node) -> bool:
        """Whether the function of this file that gives a part has moved it before."""
        births = self._births
        called = births.calls.get(part.args[0]) if part.op is Op.ITEM else None
        values = returned_at(part, called) if called is not None else None
        found = [one for one, _ in values or () if not is_none(one)]
        return bool(found) and all(births.is_move(one) and births.is_elsewhere(one) for one in found)

    def _is_moved_later(self, node: Node) -> bool:
        """`mask = (1 - x.float()).to(device)`: what is computed of a value is moved in its stead."""
        given = {node, *(one for one, values in self._kinds.given.items() if node in values)}
        return any(
            root.op is Op.OPERATION and any(root.function is one.function and one in _operands(root) for one in given)
            for root, moves in self._births.movers.items()
            if moves
        )

    def _comes_from_outside(self, node: Node, *, iterated: bool = False) -> bool:
        """Whether a value is not computed of others here, so that those do not say where it lives."""
        while node.op in {Op.ITEM, Op.ATTR, Op.ITER} or reads_key(node):
            iterated |= node.op is Op.ITER
            node = node.args[0].args[0] if node.op is Op.CALL else node.args[0]
        if iterated and node.op in {Op.MAPPING, Op.COMPREHENSION}:  # of loaders
            return bool(node.args) and all(self._comes_from_outside(one, iterated=True) for one in node.args)
        if node.op is Op.PHI:
            found = [one for one in choices(node) if not is_none(one)]
            return not found or not all(map(self._is_computed_of_moved, found))
        if node.op is not Op.CALL:
            return node.op in {Op.PARAM, Op.GLOBAL, Op.UNKNOWN}
        callee = node.args[0]
        if not iterated and not names(callee) and callee.op not in {Op.FUNCTION, Op.GLOBAL}:
            return False
        return all(self._kinds.of(one) not in {Kind.TENSOR, Kind.MODULE, Kind.DEVICE} for one in node.args[1:])

    def _is_computed_of_moved(self, value: Node) -> bool:
        """`x.to(device).mean(0)`, `torch.relu(x.to(device))`"""
        while value.op is Op.CALL:
            callee = value.args[0]
            if self._births.is_move(value):
                return True
            if names(callee):
                return any(map(self._births.is_move, value.args[1:]))
            value = callee.args[0] if callee.op is Op.ATTR else callee
        return False

    def _is_given_by_method(self, node: Node) -> bool:
        """Whether a value is unpacked of what a method gives that is not read, and gets no tensor."""
        call = node.args[0] if node.op is Op.ITEM else node
        if call.op is not Op.CALL or call.args[0].op is not Op.ATTR or names(call.args[0]):
            return False
        known = call in self._births.calls or method_effect(str(call.args[0].extra)) is not None
        module = self._kinds.is_module(call.args[0]) or self._kinds.is_module(call.args[0].args[0])
        plain = all(self._kinds.of(one) not in {Kind.TENSOR, Kind.MODULE, Kind.DEVICE} for one in call.args[1:])
        return plain and not known and not module

    def _is_given_with(self, node: Node, moved: dict[Node, list[Node]]) -> bool:
        """Whether a function that is not read gives a value together with one that is moved: all of it is there."""
        call = node.args[0] if node.op is Op.ITEM else node
        if call.op is not Op.CALL or call in self._births.calls or self._kinds.is_module(call.args[0]):
            return False
        known = any(effect(canonical(one)) is not None for one in names(call.args[0]))
        return not known and bool(names(call.args[0])) and any(one.args[:1] == (call,) for one in moved)

    def _is_member(self, node: Node) -> bool:
        if node not in self._births.used or isinstance(node.syntax, ast.Starred) or node.op is Op.CONST:
            return False
        return not is_kept_with_copies(self._births, node)

    # Attributes

    def _fields(self) -> None:
        """A method that moves several attributes of its object moves all that are made alike."""
        for function in self._module.functions:
            owner, itself = function.owner, function.self_node
            if owner is None or itself is None:
                continue
            moved: dict[str, Node] = {}
            for node in function.nodes:
                if self._births.is_move(node) and self._births.is_elsewhere(node):
                    for root in self._births.roots(node):
                        if root.op is Op.ATTR and root.args[0] is itself and not self._kinds.is_module(root):
                            moved[str(root.extra)] = node
            if len(moved) > 1:
                self._left_behind(owner, moved, function)

    def _left_behind(self, owner: Class, moved: dict[str, Node], function: Function) -> None:
        moves_all, births = function.name in MOVING, self._births
        kept = (one for one in function.stores if one.is_attribute and one.base is function.self_node)
        placed = {one.key for one in kept if births.is_move(one.value) and births.is_elsewhere(one.value)}
        made = owner.methods.get("__init__") or owner.methods.get("__post_init__")
        places = {one: {ast.unparse(annotation)} for one, annotation in owner.annotations()}
        for stored, value in made.finals.items() if made is not None else ():
            if not isinstance(stored, str):
                places[str(stored[1])] = self._makers(value)
        alike = set[str]().union(*(places.get(one, ()) for one in moved))
        least = min(len(one.guard) for one in moved.values())  # beside what is there only sometimes, it would stay
        beside = {one: [one] for one in moved.values() if len(one.guard) == least}
        for attribute, makers in places.items():
            field = owner.field_of(attribute)
            belongs = not alike.isdisjoint(makers) or (moves_all and self._is_computed_with(field))
            left = attribute not in moved and attribute not in placed  # be it of what is computed of it
            kind = self._kinds.of(field)
            is_tensor = kind is Kind.TENSOR or (kind is None and any(map(_makes_tensor, alike & makers)))
            if left and is_tensor and belongs:
                self._births.beside_moved(field, None)
                supports(self._graph, field, beside, "family")

    def _is_computed_with(self, field: Node) -> bool:
        """Whether anything but the constructor and what moves its object reads an attribute, and not on the host."""
        reads = self._births.attributes.reads.get(field, ())
        return any(
            one.function.name not in MOVING | {"__init__"} and not self._joined.ends_on_host(one) for one in reads
        )

    def _makers(self, value: Node) -> set[str]:
        """What makes a value, on each path."""
        return {made for one in self._births.roots(value) if (made := maker(one)) is not None}

    def _copied_to_host(self) -> None:
        """What is copied to the host was on a device, and so was what numpy reads beside it, but for what came with
        values that are moved, and was left where it was."""
        left, parts = set(self._left_by_moves()), LeftParts(self._births)
        for function in self._module.functions:
            calls = [one for one in function.nodes if one.op is Op.CALL and not is_thrown_away(one)]
            copied = [one.args[0].args[0] for one in calls if one.args[0].op is Op.ATTR and one.args[0].extra == "cpu"]
            count = counted("copied", len(copied)) if copied else ""
            for node in function.nodes if copied else ():
                is_read = self._graph.is_born(node, {Birth.READER})
                if is_read and not any(one in left or one in parts for one in self._births.roots(node)):
                    near = min(copied, key=lambda each: abs(each.index - node.index))
                    self._births.was_elsewhere(near)
                    link = "copied-beside" if near.statement is node.statement else count
                    self._graph.supports(node, near, link, node.guard)

    def _left_by_moves(self) -> Iterator[Node]:
        """What was unpacked from one value with others that are moved, each by itself."""
        rows: dict[Node, list[Node]] = defaultdict(list)
        for node in self._module.of(Op.ITEM):
            rows[node.args[0]].append(node)
        for row in rows.values():
            moved = {one: moves for one in row if (moves := self._births.moves_of(one))}
            rest = (one for one in row if moved and one not in moved and self._comes_from_outside(one))
            yield from (one for one in rest if not is_followed(self._births, one, chain(*moved.values())))


def _makes_tensor(maker: str) -> bool:
    """Whether a function of torch makes values, whatever their attribute is annotated as."""
    return effect(canonical(maker)) in MAKES_ON_HOST


def _bases_of(callee: Node) -> Iterator[Node]:
    """`a.b` and `a` of `a.b.c`"""
    while callee.op is Op.ATTR and not names(callee):
        callee = callee.args[0]
        yield callee


def _device_owner(births: "Births", move: Node) -> object:
    """What `model` is known by in `y.to(model.device)`, be it by way of a name."""
    for one in move.args[1:]:
        for root in births.roots(one) or {one}:
            if root.op is Op.ATTR and root.extra == "device" and root.args[0] is not root.function.self_node:
                return key(root.args[0])
    return None


def _operands(operation: Node) -> Iterator[Node]:
    """What arithmetic is made of, through conversions."""
    pending = [operation]
    for one in pending:  # grows
        yield one
        if one.op is Op.OPERATION:
            pending += one.args
        elif one.op is Op.CALL and one.args[0].op is Op.ATTR and len(one.args) == 1:
            pending += one.args[0].args


_PARTS = frozenset({Op.ITEM, Op.ATTR})
_OF_LOOPS = frozenset({Op.ITEM, Op.ITER})
