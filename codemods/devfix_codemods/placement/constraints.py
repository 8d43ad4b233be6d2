"""From the IR and the catalogue to the constraint graph of a file."""

import ast
from collections.abc import Set

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.failing import MEANT_TO_FAIL
from devfix_codemods.ir.guards import NEVER
from devfix_codemods.ir.keys import name, names
from devfix_codemods.ir.nodes import ALWAYS
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.calls import bound, constructing, goes_through, method
from devfix_codemods.placement.carried import Carried
from devfix_codemods.placement.dimensions import Dimensions
from devfix_codemods.placement.escapes import Escapes
from devfix_codemods.placement.given_back import given_on_host
from devfix_codemods.placement.graph import MADE, Graph
from devfix_codemods.placement.indices import indices, is_asserted, is_item, is_of_tensor, is_tested
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.naming import is_called_length, sounds_like_loss
from devfix_codemods.placement.places import Where, sounds_like_device
from devfix_codemods.placement.scalars import is_scalar
from devfix_codemods.placement.targets import is_cast
from devfix_codemods.placement.unpacked import returned_at

_PLACELESS = frozenset(
    {Kind.NUMBER, Kind.TEXT, Kind.DTYPE, Kind.DEVICE, Kind.ARRAY, Kind.FUNCTION, Kind.OPTIMIZER, Kind.LOADER}
    | {Kind.DATASET, Kind.NONE, Kind.TOKENIZER}
)


class Constraints:
    """Builds the graph of one file."""

    def __init__(self, kinds: Kinds, path: str = "", undone: Set[ast.AST] = frozenset()) -> None:
        self.module = module = kinds.module
        self.calls = kinds.calls
        self.constructing = constructing(module, self.calls)
        self.kinds = kinds
        self.graph = Graph()
        self.births = Births(kinds, self.graph, path, undone)
        self.births.all()
        self.graph.host_only |= MEANT_TO_FAIL | NEVER
        self.carried = Carried(self.births)
        self.dimensions = Dimensions(self.kinds, self.births.attributes)
        for function in module.functions:
            for node in list(function.nodes):
                handler = _HANDLERS.get(node.op)
                if handler is not None and node not in self.births.whole_products:
                    handler(self, node)
            self._stores(function)
            self._returns(function)
        for parameter, iterable in self.births.mapped.items():
            self.graph.flows(iterable, parameter, "element", parameter.guard)
        Escapes(self.births).all()

    def may_live(self, node: Node) -> bool:
        """Whether a value may be somewhere at all."""
        if node.op in {Op.CONST, Op.FUNCTION, Op.CLASS, Op.REF}:
            return False
        return self.kinds.of(node) not in _PLACELESS

    # Joins

    def _phi(self, node: Node) -> None:
        guards = node.extra
        assert isinstance(guards, tuple)
        for one, guard in zip(node.args, guards):
            if self.may_live(one) and not is_no_tensor(one, guard):
                chosen = any(self.births.is_move(other) and one in self.births.roots(other) for other in node.args)
                self.graph.flows(one, node, "moved-on-condition" if chosen else "certain", guard)
        if node.syntax is None or isinstance(node.syntax, ast.IfExp):
            self._alternatives(node, [one for one in node.args if self.may_live(one)])

    def _alternatives(self, node: Node, values: list[Node]) -> None:
        """What either branch may have left behind is used in the same way, and so probably lives in the same place."""
        origins = [self.births.roots(one) for one in values]
        for index, one in enumerate(values):
            others = [other for at, other in enumerate(origins) if at != index]
            if one is not node and not any(one in other or origins[index] & other for other in others):
                self.graph.meets(one, node, "other-path", node.guard)

    def _after(self, node: Node) -> None:
        if node not in self.births.moved_in_place:
            self.graph.same(node.args[0], node, "certain", node.guard)

    def _contains(self, node: Node) -> None:
        for one in node.args:
            if self.may_live(one):
                self.graph.flows(one, node, "element", node.guard)

    def _part(self, node: Node) -> None:
        base = node.args[0]
        if not self.may_live(base):
            return
        if self.births.is_of_batch(node):
            for value in self.births.refills(node):
                self.graph.flows(value, node, "element", node.guard)
            return
        called = self.calls.get(base)
        if called is not None and (values := returned_at(node, called)) is not None:
            for value, guard in values:
                if self.may_live(value):
                    self.graph.flows(value, node, "call", guard, -base.index - 1)
            return
        if self.kinds.of(base) is Kind.TENSOR:
            if not self.dimensions.is_element(node):
                self.graph.same(base, node, "view", node.guard)
            for index in indices(node):
                if self.kinds.of(index) is None and self._is_part_of_input(index):
                    self.graph.only_from(node, index, "index-of-input", node.guard)
                elif self.kinds.of(index) is Kind.TENSOR:
                    moved = self.births.moves_of(node)  # what is brought there only now was not indexed there
                    link = "index-maybe-scalar" if is_item(index) else "index-before-move" if moved else "index"
                    self.graph.only_from(node, index, link, node.guard)
        else:
            link = "element" if self.kinds.is_row(base) else "part"
            self.graph.part(node, base, node.guard, "certain" if self.births.is_encoding(base) else link)

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
        if owner is not None and not self.births.is_encoding(base):
            if owner.sets(str(node.extra)) and not self._is_constructing(node, owner):
                field = owner.field_of(str(node.extra))
                once = self.births.attributes.is_of_constructor(field) or self._stays(owner, field)
                steady = once and self.kinds.of(node) is Kind.TENSOR
                link = "field-of-constructor" if steady else "field"
                self.graph.same(field, node, link, node.guard)
            return
        if node in self.births.callees or name(node) is not None:
            return
        if node.extra in rows.PLAIN_ATTRIBUTES or not self.may_live(base):
            return
        if node.extra in rows.TENSOR_ATTRIBUTES and self.kinds.of(base) is Kind.TENSOR:
            self.graph.same(base, node, "view", node.guard)
        else:
            self.graph.part(node, base, node.guard, "certain" if self.births.is_encoding(base) else "part")

    def _is_constructing(self, node: Node, owner: Class) -> bool:
        """Whether the module that has an attribute is being made, so that no `.to` has moved it."""
        return (
            node.function in self.constructing
            and owner in self.kinds.module_classes
            and node.args[0] is node.function.self_node
        )

    def _global(self, node: Node) -> None:
        found = self.module.top.finals.get(str(node.extra))
        if found is not None and self.may_live(found):
            self.graph.same(found, node, "global", node.guard)

    def _stores(self, function: Function) -> None:
        for store in function.stores:
            if not self.may_live(store.value):
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
                if store.index is not None and self.kinds.of(store.index) is Kind.TENSOR:  # a slice is copied into
                    self.graph.meets(store.value, store.base, "operation", store.guard, scalars=True)
            elif is_of_tensor(store.index):
                continue
            elif store.key is None or store.base.op is Op.MAPPING:
                self.graph.flows(store.value, store.base, "element", store.guard)
        self._fields(function)

    def _is_moved(self, value: Node) -> bool:
        """Whether a value is moved to a device, or made there, on the spot."""
        place = self.births.moves.get(value)
        return place is not None and place.where is not Where.HOST

    def _is_moved_later(self, whole: Node) -> bool:
        return any(self.births.moves_of(one) for one in self.births.roots(whole))

    def _fields(self, function: Function) -> None:
        """What a method leaves in attributes is what others find there."""
        itself = function.self_node
        for stored, value in function.finals.items():
            if isinstance(stored, str) or stored[1].startswith("["):
                continue
            base, attribute = stored
            owner = self.births.class_of(base)
            if owner is None or not self.may_live(value):
                continue
            if value.op is Op.ATTR and value.args[0] is base and value.extra == attribute:
                continue
            field = owner.field_of(attribute)
            if not self._is_kept(owner, attribute, function):
                continue
            others = any(attribute in other.stored_names() for other in owner.methods.values() if other is not function)
            link = "field-rewritten" if others and not self._stays(owner, field) else "certain"
            if self.carried.holds(owner, attribute):
                link = "field-carried"
            self.graph.flows(value, field, link, value.guard)
            if owner in self.kinds.module_classes and base is itself and self.births.is_registered(value):
                self.graph.same(field, self.births.place_of_module(owner), "certain", field.guard)

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
        return function.name != "__init__" or owner.field_of(attribute) not in attributes.registered

    def _attribute_of_module(self, base: Node, value: Node) -> None:
        if self.kinds.is_module(base) and self.kinds.is_module(value):
            self.graph.only_from(base, value, "part", value.guard)  # what is put into it later stays behind

    def _returns(self, function: Function) -> None:
        """What a function gives on one path lives where it is on the others."""
        values = [value for value, _ in function.returns if self.may_live(value)]
        if len(values) < 2 or function.yields:
            return
        rows = [value.args if value.op is Op.SEQUENCE else (value,) for value in values]
        if len({len(row) for row in rows}) > 1:
            return
        for column in zip(*rows):
            live = [one for one in dict.fromkeys(column) if self.may_live(one)]
            if len(live) > 1:
                self._alternatives(Node(Op.UNKNOWN, None, (), "returned", ALWAYS, function, None), live)

    # Operations

    def _operands(self, node: Node, operands: tuple[Node, ...], link: str, *, scalars: bool) -> None:
        link = "operation-in-assertion" if link == "operation" and is_asserted(node) else link
        for one in operands:
            if self.may_live(one) and not is_no_tensor(one, node.guard):
                unsure = link == "operation" and self.kinds.of(one) is None and self.kinds.of(node) is not Kind.TENSOR
                own = "operation-unknown-operand" if unsure or self._may_be_number(one, link) else link
                own = "operation-tested-operand" if own == "operation-unknown-operand" and is_tested(one, node) else own
                own = "given-as-length" if own in _CALLS_OF_MODULES and is_called_length(one) else own
                own = "made-for-call" if own == "unknown-call" and self._is_made_for(one) else own
                self.graph.meets(one, node, own, node.guard, scalars=scalars)

    def _is_made_for(self, given: Node) -> bool:
        """Whether a tensor is made here for a call that is not read: who gets it among others computes with it."""
        births = self.births
        made = (each for root in births.roots(given) for each in self.graph.sources.get(root, ()))
        return not is_called_length(given) and any(one.birth in MADE and not one.scalar for one in made)

    def _may_be_number(self, node: Node, link: str) -> bool:
        """Arithmetic takes numbers as well, and attributes often are numbers."""
        return link == "operation" and self.kinds.of(node) is None and node.op in {Op.ATTR, Op.PARAM, Op.ITEM}

    def _operation(self, node: Node) -> None:
        live = tuple(one for one in node.args if self.may_live(one) and not is_no_tensor(one, node.guard))
        if len(live) == 1:
            self.graph.same(live[0], node, "certain", node.guard)
            return
        known = node in self.kinds.differentiable or any(self.kinds.of(one) is Kind.TENSOR for one in node.args)
        if not known and self.kinds.of(node) in _PLACELESS:
            return
        link = "operation" if known else "operation-of-unknowns"
        self._operands(node, node.args, link, scalars=node.extra != "MatMult")
        if known and isinstance(node.syntax, ast.AugAssign):
            self._in_place(node)

    def _in_place(self, node: Node) -> None:
        """`loss += x`: what is written to has to be where the other one is, though it be a 0-dim tensor."""
        written, other = node.args
        if self.kinds.of(written) is Kind.TENSOR and self.may_live(other):
            self.graph.writes(written, other, node, "operation")

    def _compare(self, node: Node) -> None:
        operators = node.extra
        assert isinstance(operators, tuple)
        if set(operators) <= {"Is", "IsNot", "In", "NotIn"}:
            return
        if any(self.kinds.of(one) is Kind.TENSOR for one in (node, *node.args)):
            self._operands(node, node.args, "operation", scalars=True)

    def _call(self, node: Node) -> None:
        if is_scalar(node):
            self.graph.scalars.add(node)
        called = self.calls.get(node)
        if called is not None:
            self._local(node, called)
            return
        callee = node.args[0]
        found = names(callee)
        if found:
            self._api(node, canonical(found[0]))
        elif callee.op is Op.ATTR:
            self._method(node, callee)
        elif callee.op is Op.CLASS:
            return
        else:
            self._unknown(node, callee)

    def _local(self, node: Node, called: Function) -> None:
        site = node.index + 1
        for argument, parameter in bound(node, called):
            if self.may_live(argument):
                self.graph.flows(argument, parameter, "call", node.guard, site)
        if node.args[0].op is Op.CLASS or called.name == "__init__":
            return
        given = {parameter: argument for argument, parameter in bound(node, called)}
        for value, guard in called.returns:
            if not self.may_live(value):
                continue
            place = self.births.moves.get(value)
            if place is not None and place.node in given and place.where is Where.FOLLOWS:
                self.graph.same(given[place.node], node, "move", node.guard)
            elif place is not None and place.node in given:
                self.births.placed_at(node, given[place.node])
            else:
                self.graph.flows(value, node, "call", guard, -site)

    def _api(self, node: Node, qualified: str) -> None:
        row = effect(qualified)
        lengths = self.births.host_arguments(node)
        args = tuple(one for one in node.args[1:] if one not in lengths)
        if args and qualified in _COPYING and self.may_live(args[0]):
            self.graph.same(args[0], node, "element", node.guard)
        self._weights(node, args, qualified)
        if not args or row in _NO_FLOW:
            return
        if row in {Effect.SAME, Effect.FIRST, Effect.PASS, Effect.WRAP}:
            if self.may_live(args[0]):
                self.graph.same(args[0], node, "certain", node.guard)
            if row is Effect.SAME:
                self._further(node, args[1:])
        elif row is Effect.LIKE or (row is Effect.CONVERSION and self.kinds.of(args[0]) is Kind.TENSOR):
            if not self.births.has_device(node):
                self.graph.same(args[0], node, "certain", node.guard)
        elif row is Effect.ARITHMETIC:
            self._operands(node, args, "operation", scalars=True)
        elif row in {Effect.MEET, Effect.DRAW}:
            self._operands(node, _spread(args), "operation", scalars=qualified == "torch.autograd.grad")
        elif row in {Effect.SEQUENCE, Effect.ENGINE}:
            self._elements(node, args[0])
        elif row is None:
            self._unknown(node, node.args[0])

    def _weights(self, node: Node, args: tuple[Node, ...], qualified: str) -> None:
        """A loss keeps its weights where they are; a module that has the loss takes them along."""
        if qualified in rows.WEIGHTED_LOSSES and node not in self.births.owned:
            self._operands(node, args, "weighs", scalars=True)

    def _further(self, node: Node, others: tuple[Node, ...]) -> None:
        """Tensors beside that which the result follows: the other one of `torch.max`, the bounds of `clamp`."""
        self._operands(
            node, tuple(one for one in others if self.kinds.of(one) is Kind.TENSOR), "operation", scalars=True
        )

    def _elements(self, node: Node, sequence: Node) -> None:
        """What is joined meets: each element that stands there, or whatever was put into the list."""
        if sequence.op is Op.SEQUENCE and sequence.args:
            self._operands(node, sequence.args, "operation", scalars=False)
        elif self.may_live(sequence):
            self.graph.meets(sequence, node, "operation", node.guard)

    def _method(self, node: Node, callee: Node) -> None:
        base, method = callee.args[0], str(callee.extra)
        owner = self.births.class_of(base)
        kind = self.kinds.of(base)
        if kind in _PLACELESS:
            return
        row = method_effect(method)
        if method == "pin_memory" and kind is Kind.TENSOR:
            return  # a copy, in memory of the host
        if owner is not None and method not in owner.methods and (kind is not Kind.MODULE or owner.sets(method)):
            self._unknown(node, callee)
            return
        if kind is Kind.MODULE and method in rows.STATES:
            self.graph.same(base, node, "certain", node.guard)
        elif kind is Kind.MODULE and row not in {Effect.MOVE, Effect.CUDA, Effect.TO_HOST, Effect.READ}:
            self._method_of_module(node, base, method, owner)
            return
        if row is None:
            self._unknown(node, callee)
        else:
            self._method_of_tensor(node, base, method)

    def _method_of_tensor(self, node: Node, base: Node, method: str) -> None:
        row, kind = method_effect(method), self.kinds.of(base)
        if row is Effect.BACKWARD:
            given = tuple(one for one in node.args[1:] if self.kinds.of(one) is Kind.TENSOR)
            self._operands(base, given, "operation", scalars=True)
        elif row in {Effect.SAME, Effect.LIKE, Effect.COPY_INTO}:
            if not self.births.has_device(node):
                known = kind is Kind.TENSOR or (method in rows.CONVERSIONS and len(node.args) == 1)
                self.graph.same(base, node, "certain" if known else "unknown-method", node.guard)
            if row is Effect.SAME and kind is Kind.TENSOR:
                self._further(node, node.args[1:])
        elif row is Effect.ARITHMETIC and kind in {Kind.TENSOR, None}:
            self._operands(node, (base, *node.args[1:]), "operation", scalars=True)
        elif row is Effect.MEET and kind in {Kind.TENSOR, None}:
            self._operands(node, (base, *node.args[1:]), "operation", scalars=False)

    def _method_of_module(self, node: Node, base: Node, method: str, owner: Class | None) -> None:
        if method in _GIVING_ITSELF or is_cast(node):
            self.graph.same(base, node, "certain", node.guard)
        elif method not in _KEEPING and not self.births.is_encoding(node):
            given = (base, *self.births.unmoved_arguments(node))
            self._operands(node, given, self._strength_of_method(node, owner), scalars=False)

    def _strength_of_call(self, node: Node, otherwise: str) -> str:
        if node in self.kinds.differentiable or self.kinds.is_trained(node.args[0]):
            return "differentiable-method" if self._is_method_out_of_sight(node.args[0]) else "differentiable-call"
        if node.args[0].op is Op.ATTR and node.args[0].extra in libraries.COMPUTING:
            return "module-method"
        return otherwise

    def _strength_of_method(self, node: Node, owner: Class | None) -> str:
        """How surely a method computes with the parameters of its module: of one that nothing defines here, less."""
        callee = node.args[0]
        if callee.extra in _OF_METRICS and self.kinds.is_metric(callee.args[0]):
            return "metric-call"
        if callee.extra in libraries.COMPUTING or (callee.extra == "update" and self.births.is_read(callee.args[0])):
            return "module-call"
        unread = owner is not None and owner.methods and method(owner, str(node.args[0].extra)) is None
        return self._strength_of_call(node, "method-out-of-sight" if unread else "module-method")

    def _is_method_out_of_sight(self, callee: Node) -> bool:
        """A method of a base, or of an object, that is not read: it knows a device, and may place what it gets."""
        if callee.op is not Op.ATTR or name(callee) is not None or self.kinds.is_module(callee):
            return False
        if callee.args[0] is callee.function.self_node and sounds_like_loss(str(callee.extra)):
            return False
        owner = self.births.class_of(callee.args[0])
        return owner is None or not owner.sets(str(callee.extra))

    def _lends(self, base: Node) -> bool:
        """Whether an unread method of an object probably computes with the tensors of the object."""
        return self.may_live(base) and self.births.class_of(base) is None

    def _unknown(self, node: Node, callee: Node) -> None:
        """A call of what is not read: a module, a loss, a function from elsewhere. What it gets probably meets."""
        if self.kinds.of(node) in _PLACELESS or self.births.is_moving_call(node) or self.births.is_encoding(node):
            return
        given = self.births.unmoved_arguments(node)
        if self.kinds.is_module(callee):
            node = given_on_host(self.births, node) or node
            link = "module-call" if self.births.is_read(callee) else "module-call-by-use"
            link = "loss-call" if self.kinds.losses_of(callee) else link
            link = "metric-call" if self.kinds.is_metric(callee) else link
            if self.kinds.is_recurrent(callee):
                link, states = "operation", _states(node)
                self._operands(node, states, "recurrent-state", scalars=False)
                given = tuple(one for one in given if one not in states)
            if not self._shares_nothing(callee):
                self.graph.meets(callee, node, link, node.guard)
            scatters = self.births.scatters(callee)
            if scatters == "always":
                return
            link = "maybe-scattered" if scatters == "maybe" else link
            gone_through = self._gone_through(node)
            given = tuple(one for one in given if one not in gone_through)
        else:
            by_module = callee.op is Op.ATTR and self._is_part_of_module(callee)
            link = self._strength_of_call(node, "module-call-by-use" if by_module else "unknown-call")
            if callee.op is Op.ATTR and name(callee) is None and self._lends(callee.args[0]):
                self.graph.meets(callee.args[0], node, link, node.guard)
            elif callee.op not in {Op.REF, Op.ATTR} and node in self.kinds.differentiable:
                self.graph.meets(callee, node, link, node.guard)
            if self._only_transforms(node, callee):
                link = "unread-function"
            elif link == "unknown-call" and self._gets_module_and_tensor(given):
                link = "called-together"
        self._operands(node, given, link, scalars=False)

    def _gets_module_and_tensor(self, given: tuple[Node, ...]) -> bool:
        """`infer(image, net)`: who is given both calls the one with the other."""
        return {Kind.MODULE, Kind.TENSOR} <= {self.kinds.of(one) for one in given}

    def _shares_nothing(self, callee: Node) -> bool:
        """Whether a callee has no tensors; of one that is not known well, nothing says by a move where it computes."""
        return self.kinds.is_bare(callee) or (
            self.kinds.is_other(callee)
            and not any(self.births.moves_of(one) for one in (callee, *self.births.roots(callee)))
        )

    def _gone_through(self, call: Node) -> set[Node]:
        """The arguments of a module of which its `forward`, as far as it is read, takes but the elements: lists."""
        owner = self.births.class_of(call.args[0])
        forward = method(owner, "forward") if owner is not None else None
        return (
            {one for one, parameter in bound(call, forward) if goes_through(parameter)}
            if forward is not None
            else set()
        )

    def _is_part_of_module(self, callee: Node) -> bool:
        """Whether a module calls, when it is called itself, what it keeps: another module, or a function like one."""
        owner = self.births.class_of(callee.args[0])
        kept = owner is not None and owner in self.kinds.module_classes and owner.sets(str(callee.extra))
        return kept and callee.function.name == "forward" and callee.args[0] is callee.function.self_node

    def _only_transforms(self, node: Node, callee: Node) -> bool:
        """Whether a function of another file makes something of one value: it may well move it, nothing meets there."""
        found = name(callee)
        if found is None or found.rpartition(".")[2][:1].isupper() or found.partition(".")[0] in _READ_PACKAGES:
            return False
        return len(node.args) == 2 and self.may_live(node.args[1])


def _spread(args: tuple[Node, ...]) -> tuple[Node, ...]:
    """What a function gets, one by one where it stands in lists: `grad([loss], [x], [weight])`."""
    return tuple(one for each in args for one in (each.args if each.op is Op.SEQUENCE else (each,)))


def _states(call: Node) -> tuple[Node, ...]:
    """What a recurrent network is given beside its input."""
    return call.args[2:]


_CALLS_OF_MODULES = frozenset({"module-call", "module-call-by-use", "differentiable-call", "module-method"})
"""Constraints of calls that may want lengths on the host, as packing does."""
_READ_PACKAGES = frozenset({"torch", "torchvision", "numpy", "builtins"})
"""Packages whose functions leave values where they are, as far as the catalogue does not say otherwise."""

_COPYING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.sorted", "collections.OrderedDict"})
"""What gives the elements of what it gets."""

_GIVING_ITSELF = frozenset({"clone", "eval", "train", "requires_grad_", "half", "float", "double", "bfloat16", "apply"})
"""Methods of modules that give the module back."""
_OF_METRICS = frozenset({"update", "forward"})
"""Methods of metrics that take values as they are, and fail where these are elsewhere."""
_KEEPING = frozenset(
    {"load_state_dict", "type", "register_buffer", "add_module", "register_module", "register_forward_hook"}
    | {"append", "extend", "insert"}
)
"""Methods of modules that compute nothing."""
_NO_FLOW = frozenset(
    {Effect.READ, Effect.ARRAY, Effect.OTHER, Effect.MODULE, Effect.FACTORY, Effect.HOST, Effect.LOAD, Effect.SYNC}
)
_HANDLERS = {
    Op.PHI: Constraints._phi,
    Op.AFTER: Constraints._after,
    Op.SEQUENCE: Constraints._contains,
    Op.MAPPING: Constraints._contains,
    Op.COMPREHENSION: Constraints._contains,
    Op.ITEM: Constraints._part,
    Op.ITER: Constraints._part,
    Op.ATTR: Constraints._attr,
    Op.GLOBAL: Constraints._global,
    Op.OPERATION: Constraints._operation,
    Op.COMPARE: Constraints._compare,
    Op.CALL: Constraints._call,
}
