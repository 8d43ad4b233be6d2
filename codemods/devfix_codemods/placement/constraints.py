"""From the IR and the catalogue to the constraint graph of a file."""

import ast
from collections.abc import Callable, Set
from functools import cached_property

from devfix_codemods.catalogue import Kind
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.failing import MEANT_TO_FAIL
from devfix_codemods.ir.guards import NEVER
from devfix_codemods.ir.items import whole
from devfix_codemods.ir.keys import method_name, name, resolved
from devfix_codemods.ir.nodes import ALWAYS, Store
from devfix_codemods.placement.arguments import is_encoding
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.call_constraints import Calls
from devfix_codemods.placement.calls import constructing, getter, returned_at
from devfix_codemods.placement.device_conditions import asks_for_place
from devfix_codemods.placement.dimensions import Dimensions, holds_one
from devfix_codemods.placement.escapes import Escapes
from devfix_codemods.placement.graph import GIVEN_ROW, Graph
from devfix_codemods.placement.indices import indices, is_item, is_of_given_row, is_of_tensor
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.manual_moves import ManualMoves
from devfix_codemods.placement.moved_later import MovedLater
from devfix_codemods.placement.operation_constraints import Operations
from devfix_codemods.placement.places import Where, sounds_like_device


class Constraints:
    """Builds the graph of one file: where values begin at once, what they share when that is asked for."""

    def __init__(self, kinds: Kinds, path: str = "", undone: Set[ast.AST] = frozenset()) -> None:
        self.module = kinds.module
        self.calls = kinds.calls
        self.constructing = constructing(self.module, self.calls)
        self.kinds = kinds
        self.graph = Graph()
        self.births = Births(kinds, self.graph, path, undone)
        self.births.of_this_file()

    def build(self) -> None:
        """Add what other files say, and what the values of this one share."""
        self.births.of_other_files()
        self.graph.host_only |= MEANT_TO_FAIL | NEVER
        self._carried = ManualMoves(self.births)
        self.joined = Joined(self.births)
        self.moved_later = MovedLater(self.births)
        self._dimensions = Dimensions(self.kinds, self.births.attributes)
        operations = Operations(self.births)
        handlers: dict[Op, Callable[[Node], None]] = {
            Op.PHI: self._phi,
            Op.AFTER: self._after,
            Op.SEQUENCE: self._contains,
            Op.MAPPING: self._contains,
            Op.COMPREHENSION: self._contains,
            Op.ITEM: self._part,
            Op.ITER: self._part,
            Op.ATTR: self._attr,
            Op.GLOBAL: self._global,
            Op.OPERATION: operations.operation,
            Op.COMPARE: operations.compare,
            Op.CALL: Calls(self.births, operations).add,
        }
        for function in self.module.functions:
            for node in list(function.nodes):
                handler = handlers.get(node.op)
                if handler is not None and node not in self.births.whole_products:
                    handler(node)
            self._defaults(function)
            self._stores(function)
            self._returns(function)
        Escapes(self.births).all()

    # Joins

    def _phi(self, node: Node) -> None:
        if node not in self.module.read:
            return
        arms = zip(node.args, node.extras)
        living = [(one, guard) for one, guard in arms if self.kinds.may_live(one) and not is_no_tensor(one, guard)]
        for one, guard in living:
            chosen = any(self._is_moved_from(one, other) for other in node.args if other is not one)
            self.graph.flows(one, node, "moved-on-condition" if chosen else "certain", guard)
        if node.syntax is None or isinstance(node.syntax, ast.IfExp):
            self._alternatives(node, [one for one, _ in living])

    def _is_moved_from(self, value: Node, other: Node) -> bool:
        """Whether one value is another one that was moved: whatever it is converted to then, or converted alike."""
        way = self.births.way(other)
        if value in way:
            return any(map(self.births.is_move, way - self.births.way(value)))
        (root, words), (origin, others) = self._converted(value), self._converted(other)
        return root is origin and words != others and words == [one for one in others if one is not None]

    def _converted(self, node: Node) -> tuple[Node, list[str | None]]:
        """What a chain of method calls starts from, and how it goes on: None stands for a move."""
        words: list[str | None] = []
        while node.op is Op.CALL and node.args[0].op is Op.ATTR and isinstance(node.syntax, ast.Call):
            given = [ast.unparse(one) for one in (*node.syntax.args, *node.syntax.keywords)]
            words.append(None if self.births.is_move(node) else f"{node.args[0].extra}({', '.join(given)})")
            node = node.args[0].args[0]
        return node, words

    def _alternatives(self, node: Node, values: list[Node]) -> None:
        """What either branch may have left behind is used in the same way, and so probably lives in the same place."""
        values = [one for one in values if not self.kinds.says_surely(one, Kind.NUMBER)]  # `flag: bool`, or a tensor
        if self.joined.is_moved(node) or self._copies(values):
            return
        origins = [self.births.roots(one) | self._rebuilt_of(one) for one in values]
        apart: list[Node] = []
        for index, one in enumerate(values):
            others = [other for at, other in enumerate(origins) if at != index]
            moved = not set(values).isdisjoint(self.births.moves_of(one))
            if one is not node and not moved and not any(one in other or origins[index] & other for other in others):
                apart.append(one)
        for one in apart if apart and not self._is_choice_of_place(node) else ():
            self.graph.meets(one, node, "other-path", node.guard)

    def _is_choice_of_place(self, node: Node) -> bool:
        """`if use_cuda: x = on_cuda()`, and otherwise `x = on_host()`: each branch is where it is on purpose."""
        guards = node.extras if node.syntax is None else ()
        return any(asks_for_place(node.function, guard - node.guard) for guard in guards)

    def _copies(self, values: list[Node]) -> bool:
        """Whether a value is `x.cpu()` where another one is `x`: neither says where the other belongs."""
        copied = [one.args[0].args[0] for one in values if method_name(one) == "cpu"]
        roots = self.births.roots
        return any(not roots(one).isdisjoint({each, *roots(each)}) for one in copied for each in values)

    def _rebuilt_of(self, row: Node) -> Set[Node]:
        """The container that a comprehension makes anew, each of its values moved: `{k: v.cuda() for k, v in …}`."""
        roots = self.births.roots(row.args[0]) if row.op is Op.COMPREHENSION else ()
        return {one.args[0] for one in roots if one.op is Op.ITER}

    def _after(self, node: Node) -> None:
        if node not in self.births.moved_in_place:
            self.graph.same(node.args[0], node, "certain", node.guard)

    def _contains(self, node: Node) -> None:
        for one in node.args:
            if self.kinds.may_live(one):
                self.graph.flows(one, node, "element", node.guard)

    # Parts

    def _part(self, node: Node) -> None:
        base = node.args[0]
        if not self.kinds.may_live(base):
            return
        if self.births.is_of_batch(node):
            for value in self.births.refills(node):
                self.graph.flows(value, node, "element", node.guard)
            return
        called = self.calls.get(base)
        if called is not None and (values := returned_at(node, called)) is not None:
            for value, guard in values:
                if self.kinds.may_live(value):
                    self.graph.flows(value, node, "call", guard, -base.index - 1)
            return
        if self.kinds.of(base) is Kind.TENSOR:
            if not self._dimensions.is_element(node):
                self.graph.same(base, node, "view", node.guard)
            for index in indices(node):
                if self.kinds.of(index) is None and self._is_part_of_input(index):
                    self.graph.only_from(node, index, "index-of-input", node.guard)
                elif self.kinds.of(index) is Kind.TENSOR:
                    moved = self.births.moves_of(node)  # what is brought there only now was not indexed there
                    link = "index-maybe-scalar" if is_item(index) else "index-before-move" if moved else "index"
                    self.graph.only_from(node, index, link, node.guard)
        else:
            given = is_of_given_row(node) and self.kinds.of(node) is Kind.TENSOR
            link = "element" if self.kinds.is_row(base) else GIVEN_ROW if given else "part"
            sure = is_encoding(base) or method_name(base) in rows.STATES
            self.graph.part(node, base, node.guard, "certain" if sure else link)

    def _is_part_of_input(self, node: Node) -> bool:
        """`graph.x["kind"]`, of what a module gets: more often a tensor than a number."""
        while node.op is Op.ATTR or (node.op is Op.ITEM and isinstance(node.extra, str)):
            node = node.args[0]
            if node.op is Op.PARAM and node is not node.function.self_node:
                return node.function.name == "forward" and node.function.owner in self.kinds.module_classes
        return False

    def _attr(self, node: Node) -> None:
        base = node.args[0]
        owner = self.births.class_of(base)
        if owner is not None and not is_encoding(base):
            if owner.sets(str(node.extra)) and not self._is_constructing(node, owner):
                field = owner.field_of(str(node.extra))
                once = self.births.attributes.is_of_constructor(field) or self._stays(owner, field)
                steady = once and self.kinds.of(node) is Kind.TENSOR
                link = "field-of-constructor" if steady else "field"
                self.graph.same(field, node, link, node.guard)
            self._property(node, owner)
            return
        if node in self.births.callees or name(node) is not None:
            return
        if node.extra in rows.PLAIN_ATTRIBUTES or not self.kinds.may_live(base):
            return
        if node.extra in rows.TENSOR_ATTRIBUTES and self.kinds.of(base) is Kind.TENSOR:
            self.graph.same(base, node, "view", node.guard)
        else:
            self.graph.part(node, base, node.guard, "certain" if is_encoding(base) else "part")

    def _property(self, node: Node, owner: Class) -> None:
        read = getter(owner, str(node.extra))
        for value, guard in read.returns if read is not None else ():
            if self.kinds.may_live(value):
                self.graph.flows(value, node, "call", guard, -(node.index + 1))

    def _is_constructing(self, node: Node, owner: Class) -> bool:
        """Whether the module that has an attribute is being made, so that no `.to` has moved it."""
        return (
            node.function in self.constructing
            and owner in self.kinds.module_classes
            and node.args[0] is node.function.self_node
        )

    def _global(self, node: Node) -> None:
        found = resolved(node)
        if found is not node and self.kinds.may_live(found):
            self.graph.same(found, node, "global", node.guard)

    def _defaults(self, function: Function) -> None:
        """What a parameter is by default it may be, where no call that is seen gives it anything."""
        if function not in self._called:
            for word, default in function.defaults.items():
                if self.kinds.may_live(default):
                    parameter = function.parameters[word]
                    self.graph.flows(default, parameter, "call", parameter.guard, parameter.index + 1)

    @cached_property
    def _called(self) -> set[Function]:
        return set(self.calls.values())

    # What functions leave behind

    def _stores(self, function: Function) -> None:
        for store in function.stores:
            self._put_into_moved(store)
            if not self.kinds.may_live(store.value) or is_no_tensor(store.value, store.guard):
                continue
            if store.is_attribute:
                owner = self.births.class_of(store.base)
                if owner is None:
                    self._attribute_of_module(store.base, store.value)
                continue
            if self.kinds.of(store.base) is Kind.TENSOR:
                if self._is_moved(store.value) and not self._is_moved_later(
                    store.base
                ):  # a move in order to be stored says where the whole is
                    self.graph.supports(store.base, store.value, "filled-with-moved", store.guard)
                index = store.index
                filled = index is not None and index.op is Op.COMPARE and holds_one(store.value)
                if index is not None and self.kinds.of(index) is Kind.TENSOR and not filled:  # a slice is copied into
                    self.graph.meets(store.value, store.base, "operation", store.guard, scalars=True)
            elif is_of_tensor(store.index):
                continue
            elif store.key is None or store.base.op is Op.MAPPING:
                self.graph.flows(store.value, store.base, "element", store.guard)
        self._fields(function)

    def _put_into_moved(self, store: Store) -> None:
        """`graph.ndata["x"] = torch.ones(3)`, of what was moved with all that it had."""
        base = whole(store.base, {Op.ATTR, Op.ITEM})
        moved = self.kinds.of(base) is None and self.births.is_move(base) and self.births.is_elsewhere(base)
        if moved and any(map(self.graph.is_made, self.births.roots(store.value))):
            self.graph.supports(store.value, base, "put-into-moved", store.guard)

    def _is_moved(self, value: Node) -> bool:
        """Whether a value is moved to a device, or made there, on the spot."""
        place = self.births.moves.get(value)
        return place is not None and place.where is not Where.HOST

    def _is_moved_later(self, whole: Node) -> bool:
        return any(self.births.moves_of(one) for one in self.births.roots(whole))

    def _fields(self, function: Function) -> None:
        """What a method leaves in attributes is what others find there."""
        itself = function.self_node
        if itself is not None and function.name.startswith("test_"):
            return  # each test has an object of its own
        for stored, value in function.finals.items():
            if isinstance(stored, str) or stored[1].startswith("["):
                continue
            base, attribute = stored
            owner = self.births.class_of(base)
            if owner is None or not self.kinds.may_live(value):
                continue
            if value.op is Op.ATTR and value.args[0] is base and value.extra == attribute:
                continue
            field = owner.field_of(attribute)
            if not self._is_kept(owner, attribute, function):
                continue
            self.graph.flows(value, field, self._how_kept(owner, attribute, value), value.guard)
            if owner in self.kinds.module_classes and base is itself and self.births.is_registered(value):
                self.graph.same(field, self.births.place_of_module(owner), "certain", field.guard)

    def _how_kept(self, owner: Class, attribute: str, value: Node) -> str:
        """How surely others find in an attribute what a function leaves there.

        A module that is moved where it is stays in it, unless it is taken back: the constructor came first.
        """
        in_place = value in self.births.moved_in_place and value.function.name != "__init__"
        moved = in_place and not self.births.is_taken_back(attribute)
        rewriting = (
            one
            for one in owner.methods.values()
            if one is not value.function and attribute in one.stored_names() and not (moved and one.name == "__init__")
        )
        if self._carried.holds(owner, attribute) and not moved:
            return "field-carried"
        return "field-rewritten" if any(rewriting) and not self._stays(owner, owner.field_of(attribute)) else "certain"

    def _stays(self, owner: Class, field: Node) -> bool:
        """Whether an attribute is on the host whatever method sets it: each makes it there, or adds to what it held."""
        stored = self.births.attributes.stored.get(field, ())
        return bool(stored) and all(self._adds_to(owner, field, value) for value in stored)

    def _adds_to(self, owner: Class, field: Node, value: Node) -> bool:
        """Whether a value is made on the host, or of what an attribute held; and be it converted, in a class that is
        told of a device, and so computes elsewhere."""
        made = owner.methods.get("__init__")
        told = made is not None and any(map(sounds_like_device, made.parameters))
        return any(
            any(source.place.where is Where.HOST for source in self.graph.sources.get(one, ()))
            or self.births.attributes.is_joined(field, one)
            for one in (value, *(self.births.roots(value) if told else ()))
        )

    def _is_kept(self, owner: Class, attribute: str, function: Function) -> bool:
        """Whether what a method leaves in an attribute stays there as it is: a buffer that is set up moves."""
        attributes = self.births.attributes
        if not attributes.is_plain(owner, attribute):
            return False
        begins = function.name == "__init__" or function in self.constructing
        return not begins or owner.field_of(attribute) not in attributes.registered

    def _attribute_of_module(self, base: Node, value: Node) -> None:
        if self.kinds.is_module(base) and self.kinds.is_module(value):
            self.graph.only_from(base, value, "part", value.guard)  # what is put into it later stays behind

    def _returns(self, function: Function) -> None:
        """What a function gives on one path lives where it is on the others."""
        values = [value for value, _ in function.returns if self.kinds.may_live(value)]
        if len(values) < 2 or function.yields:
            return
        rows = [value.args if value.op is Op.SEQUENCE else (value,) for value in values]
        if len({len(row) for row in rows}) > 1:
            return
        for column in zip(*rows):
            live = [one for one in dict.fromkeys(column) if self.kinds.may_live(one)]
            if len(live) > 1:
                self._alternatives(Node(Op.UNKNOWN, None, (), "returned", ALWAYS, function, None), live)
