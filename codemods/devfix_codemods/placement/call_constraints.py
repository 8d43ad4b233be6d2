"""Constraints of calls: of functions that are read, of libraries, of methods, of what is not read."""

from copy import copy
from functools import cached_property

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.guards import joined
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import argument, has_device, is_encoding, keyword
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.calls import bound, goes_through, left_to_default, method, returned, ruled_out
from devfix_codemods.placement.differentiable import is_held_loss
from devfix_codemods.placement.dimensions import is_scalar
from devfix_codemods.placement.host_functions import prepares_data
from devfix_codemods.placement.imported_calls import gives_back_on_host
from devfix_codemods.placement.kinds import PLACELESS
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.naming import sounds_like_class
from devfix_codemods.placement.operation_constraints import Operations
from devfix_codemods.placement.places import HOST, Where, place_of
from devfix_codemods.placement.replaced_parts import speaks_of_moving
from devfix_codemods.placement.returns import given_on_host
from devfix_codemods.placement.targets import is_cast


class Calls:
    """Adds what calls say of where values are to the graph of a file."""

    def __init__(self, births: Births, operations: Operations) -> None:
        self._births = births
        self._kinds = births.kinds
        self._graph = births.graph
        self._meet = operations.meet

    def add(self, node: Node) -> None:
        """What one call says: whose argument is whose parameter, what its result follows, what meets there."""
        if is_scalar(node):
            self._graph.scalars.add(node)
        called = self._kinds.calls.get(node)
        if called is not None:
            self._local(node, called)
            return
        if node in self._births.copied:
            return
        callee = node.args[0]
        found = names(callee)
        if found:
            self._api(node, canonical(found[0]))
        elif callee.op is Op.ATTR:
            self._method(node, callee)
        elif callee.op is not Op.CLASS:
            self._unknown(node, callee)
        elif isinstance(callee.extra, Class) and _is_mapping(callee.extra):
            for one in filter(self._kinds.may_live, node.args[1:]):
                self._graph.flows(one, node, "element", node.guard)

    # Functions that are read

    def _local(self, node: Node, called: Function) -> None:
        site = node.index + 1
        given = {parameter: value for value, parameter in bound(node, called)}
        under = joined(node.guard, ruled_out(node, called))
        for parameter, value in (*given.items(), *left_to_default(node, called)):
            if self._kinds.may_live(value):
                self._graph.flows(value, parameter, "call", under, site)
        callee, itself = node.args[0], called.object_node
        if callee.op is Op.ATTR and itself is not None and called.owner in self._kinds.module_classes:
            self._graph.enters(callee.args[0], itself, "call", node.guard, site)
        if callee.op is Op.CLASS or called.name == "__init__":
            return
        for value, guard in returned(node, called):
            if not self._kinds.may_live(value):
                continue
            place = self._births.moves.get(value)
            if place is not None and place.node in given and place.where is Where.FOLLOWS:
                self._graph.same(given[place.node], node, "move", node.guard)
            elif place is not None and place.node in given:
                self._births.placed_at(node, given[place.node])
            else:
                self._graph.flows(value, node, "call", guard, -site)

    # Functions of libraries

    def _api(self, node: Node, qualified: str) -> None:
        row = effect(qualified)
        lengths = self._births.host_arguments(node)
        args = tuple(one for one in node.args[1:] if one not in lengths)
        if args and qualified in _COPYING and self._kinds.may_live(args[0]):
            self._graph.same(args[0], node, "element", node.guard)
        self._weights(node, args, qualified)
        if not args or row in _NO_FLOW:
            return
        if row in {Effect.SAME, Effect.FIRST, Effect.PASS, Effect.WRAP}:
            if self._kinds.may_live(args[0]):
                self._graph.same(args[0], node, "certain", node.guard)
            if row is Effect.SAME and qualified.rpartition(".")[2] in rows.TAKING_FURTHER:
                self._further(node, args[1:])
        elif row is Effect.LIKE or (row is Effect.CONVERSION and self._is_tensor(args[0], node)):
            if not has_device(node):
                self._graph.same(args[0], node, "certain", node.guard)
        elif row is Effect.ARITHMETIC:
            self._meet(node, args, "operation", scalars=True)
        elif row in {Effect.MEET, Effect.DRAW}:
            self._meet(node, _spread(args), "operation", scalars=qualified == "torch.autograd.grad")
        elif row in {Effect.SEQUENCE, Effect.ENGINE}:
            self._elements(node, args[0])
        elif row is None:
            self._unknown(node, node.args[0])

    def _weights(self, node: Node, args: tuple[Node, ...], qualified: str) -> None:
        """A loss keeps its weights where they are; a module that has the loss takes them along."""
        if qualified in rows.WEIGHTED_LOSSES and node not in self._births.owned:
            self._meet(node, args, "weighs", scalars=True)

    def _further(self, node: Node, others: tuple[Node, ...]) -> None:
        """Tensors beside that which the result follows: the other one of `torch.max`, the bounds of `clamp`."""
        self._meet(node, tuple(one for one in others if self._kinds.of(one) is Kind.TENSOR), "operation", scalars=True)

    def _elements(self, node: Node, sequence: Node) -> None:
        """What is joined meets: each element that stands there, or whatever was put into the list."""
        if sequence.op is Op.SEQUENCE and sequence.args:
            self._meet(node, sequence.args, "operation", scalars=False)
        elif self._kinds.may_live(sequence):
            self._graph.meets(sequence, node, "operation", node.guard)

    # Methods

    def _method(self, node: Node, callee: Node) -> None:
        base, method = callee.args[0], str(callee.extra)
        owner = self._births.class_of(base)
        kind = self._kinds.of(base)
        if kind in PLACELESS:
            return
        row = method_effect(method)
        if method == "pin_memory" and kind is Kind.TENSOR:
            return  # a copy, in memory of the host
        if owner is not None and method not in owner.methods and (kind is not Kind.MODULE or owner.sets(method)):
            self._unknown(node, callee)
            return
        if kind is Kind.MODULE and method in rows.STATES:
            self._graph.same(base, node, "certain", node.guard)
        elif kind is Kind.MODULE and row not in {Effect.MOVE, Effect.CUDA, Effect.TO_HOST, Effect.READ}:
            self._method_of_module(node, base, method, owner)
            return
        if row is None:
            self._unknown(node, callee)
        else:
            self._method_of_tensor(node, base, method)

    def _method_of_tensor(self, node: Node, base: Node, method: str) -> None:
        row, kind = method_effect(method), self._kinds.of(base)
        if row is Effect.BACKWARD:
            given = tuple(one for one in node.args[1:] if self._kinds.of(one) is Kind.TENSOR)
            self._meet(base, given, "operation", scalars=True)
        elif row in {Effect.SAME, Effect.LIKE, Effect.COPY_INTO}:
            if not has_device(node):
                known = kind is Kind.TENSOR or (method in rows.CONVERSIONS and len(node.args) == 1)
                self._graph.same(base, node, "certain" if known else "unknown-method", node.guard)
            if method in rows.TAKING_FURTHER and kind is Kind.TENSOR:
                self._further(node, node.args[1:])
        elif row is Effect.ARITHMETIC and kind in {Kind.TENSOR, None}:
            self._meet(node, (base, *node.args[1:]), "operation", scalars=True)
        elif row is Effect.MEET and kind in {Kind.TENSOR, None}:
            self._meet(node, (base, *node.args[1:]), "operation", scalars=False)

    def _method_of_module(self, node: Node, base: Node, method: str, owner: Class | None) -> None:
        if method in _GIVING_ITSELF or is_cast(node):
            self._graph.same(base, node, "certain", node.guard)
        elif method not in _KEEPING and not is_encoding(node) and not self._places_batches(node, method, owner):
            given = (base, *self._births.unmoved_arguments(node))
            self._meet(node, given, self._strength_of_method(node, owner), scalars=False)

    def _places_batches(self, node: Node, method: str, owner: Class | None) -> bool:
        """`model.transfer_batch_to_device(batch, device)`, and `model.test_step(batch)` of a model that a framework
        builds."""
        is_step = method in libraries.PLACING_STEPS and self._births.imports(libraries.OPENMMLAB)
        return owner is None and (is_step or speaks_of_moving(node.args[0]))

    def _strength_of_method(self, node: Node, owner: Class | None) -> str:
        """How surely a method computes with the parameters of its module: of one that nothing defines here, less."""
        callee = node.args[0]
        if callee.extra in _OF_METRICS and self._kinds.is_metric(callee.args[0]):
            return "metric-call"
        if callee.extra in libraries.COMPUTING or (callee.extra == "update" and self._births.is_read(callee.args[0])):
            return "module-call"
        unread = owner is not None and owner.methods and method(owner, str(node.args[0].extra)) is None
        return self._strength_of_call(node, "method-out-of-sight" if unread else "module-method")

    def _strength_of_call(self, node: Node, otherwise: str) -> str:
        if node in self._kinds.differentiable or self._kinds.is_trained(node.args[0]):
            return "differentiable-method" if self._is_method_out_of_sight(node.args[0]) else "differentiable-call"
        if node in self._kinds.losses_by_name:
            return "loss-by-name"
        if node.args[0].op is Op.ATTR and node.args[0].extra in libraries.COMPUTING:
            return "module-method"
        return otherwise

    def _is_method_out_of_sight(self, callee: Node) -> bool:
        """A method of a base, or of an object, that is not read: it knows a device, and may place what it gets."""
        if callee.op is not Op.ATTR or name(callee) is not None or self._kinds.is_module(callee):
            return False
        if is_held_loss(callee):
            return False
        owner = self._births.class_of(callee.args[0])
        return owner is None or not owner.sets(str(callee.extra))

    def _is_tensor(self, given: Node, call: Node) -> bool:
        return self._kinds.of(given) is Kind.TENSOR and not is_no_tensor(given, call.guard)

    # What is not read

    def _unknown(self, node: Node, callee: Node) -> None:
        """A call of what is not read: a module, a loss, a function from elsewhere. What it gets probably meets."""
        if (same := self._births.same_module(node)) is not None and not has_device(node):
            self._graph.same(same, node, "call", node.guard)
            return
        if self._is_placed_already(node) or self._makes_data(callee):
            return
        given = self._left_where_it_is(node)
        if self._kinds.is_module(node) and not self._kinds.is_module(callee):  # it is made of options, and of modules
            moved = bool(self._births.moves_of(node))  # and with it, in place, the modules that it is made of
            kept = {Kind.TENSOR} if moved else {Kind.TENSOR, Kind.MODULE}
            given = tuple(one for one in given if self._kinds.of(one) in kept)
        if self._kinds.is_module(callee):
            node = given_on_host(self._births, node) or node
            link = "module-call" if self._births.is_read(callee) else "module-call-by-use"
            link = "module-aware-of-device" if self._kinds.find(callee) in self._aware_of_device else link
            link = "loss-call" if self._kinds.losses_of(callee) else link
            link = "metric-call" if self._kinds.is_metric(callee) else link
            if self._kinds.is_recurrent(callee):
                link, states = "operation", _states(node)
                self._meet(node, states, "recurrent-state", scalars=False)
                given = tuple(one for one in given if one not in states)
            if not self._shares_nothing(callee):
                self._graph.meets(callee, node, link, node.guard)
            scatters = self._births.scatters(callee)
            if scatters == "always":
                return
            link = "maybe-scattered" if scatters == "maybe" else link
            gone_through = self._gone_through(node)
            given = tuple(one for one in given if one not in gone_through)
        else:
            by_module = callee.op is Op.ATTR and self._is_part_of_module(callee)
            link = self._strength_of_call(node, "module-call-by-use" if by_module else "unknown-call")
            node = copy(node) if gives_back_on_host(self._kinds.imported, node) else node
            if callee.op is Op.ATTR and name(callee) is None and self._lends(callee.args[0]):
                self._graph.meets(callee.args[0], node, link, node.guard)
            elif node in self._kinds.differentiable and self._may_be_module(callee):
                self._graph.meets(callee, node, link, node.guard)
            if self._only_transforms(node, callee):
                link = "unread-function"
            elif link == "unknown-call" and self._gets_module_and_tensor(given):
                link = "called-together"
        self._meet(node, given, link, scalars=False)

    @cached_property
    def _aware_of_device(self) -> set[Node]:
        """What stands for the modules that are told a device by a method of their own, `net.set_device(device)`, which
        nothing here defines: they may take what they get there."""
        calls = (one for one in self._births.module.of(Op.CALL) if one not in self._kinds.calls)
        return {
            self._kinds.find(one.args[0].args[0])
            for one in calls
            if one.args[0].op is Op.ATTR
            and method_effect(str(one.args[0].extra)) is None
            and any(place_of(each, self._kinds) not in {None, HOST} for each in one.args[1:] if each.op is not Op.CONST)
        }

    def _is_placed_already(self, node: Node) -> bool:
        """Whether what a call gives has no place, or is known to be where it is."""
        births = self._births
        is_told = births.is_moving_call(node) or is_encoding(node) or node in births.told_elsewhere
        return is_told or self._kinds.of(node) in PLACELESS

    def _may_be_module(self, callee: Node) -> bool:
        """Whether what is called on the way to `backward` may have parameters; a class, `Variable(x)`, has none, nor
        has a method."""
        if callee.op is Op.ATTR and callee.args[0] is callee.function.self_node:
            owner = self._births.class_of(callee.args[0])
            return owner is not None and owner.sets(str(callee.extra))
        return callee.op not in {Op.REF, Op.ATTR} and not (callee.op is Op.GLOBAL and sounds_like_class(callee))

    def _gets_module_and_tensor(self, given: tuple[Node, ...]) -> bool:
        """`infer(image, net)`: who is given both calls the one with the other."""
        return {Kind.MODULE, Kind.TENSOR} <= {self._kinds.of(one) for one in given}

    def _left_where_it_is(self, call: Node) -> tuple[Node, ...]:
        """What a call gets, and neither the program nor what is called moves."""
        given = self._births.unmoved_arguments(call)
        if not self._kinds.places_labels(call.args[0]):
            return given
        labels = {argument(call, 1, "labels"), keyword(call, "ref_labels")}
        return tuple(one for one in given if one not in labels)

    def _makes_data(self, callee: Node) -> bool:
        """`Rows(x, y)`: a data set of another file keeps what it gets, each part for itself."""
        made = self._kinds.imported.class_of(callee)
        return made is not None and prepares_data(made, self._kinds)

    def _shares_nothing(self, callee: Node) -> bool:
        """Whether a callee has no tensors; of one that is not known well, nothing says by a move where it computes."""
        return self._kinds.is_stateless(callee) or (
            self._kinds.is_other(callee)
            and not any(self._births.moves_of(one) for one in (callee, *self._births.roots(callee)))
        )

    def _gone_through(self, call: Node) -> set[Node]:
        """The arguments of a module of which its `forward`, as far as it is read, takes but the elements: lists."""
        owner = self._births.class_of(call.args[0])
        forward = method(owner, "forward") if owner is not None else None
        return (
            {one for one, parameter in bound(call, forward) if goes_through(parameter)}
            if forward is not None
            else set()
        )

    def _lends(self, base: Node) -> bool:
        """Whether an unread method of an object probably computes with the tensors of the object."""
        return self._kinds.may_live(base) and self._births.class_of(base) is None and not _is_starred(base)

    def _is_part_of_module(self, callee: Node) -> bool:
        """Whether a module calls, when it is called itself, what it keeps: another module, or a function like one."""
        owner = self._births.class_of(callee.args[0])
        kept = owner is not None and owner in self._kinds.module_classes and owner.sets(str(callee.extra))
        return kept and callee.function.name == "forward" and callee.args[0] is callee.function.self_node

    def _only_transforms(self, node: Node, callee: Node) -> bool:
        """Whether a function of another file makes something of one value: it may well move it, nothing meets there."""
        found = name(callee)
        if found is None or found.rpartition(".")[2][:1].isupper() or found.partition(".")[0] in _READ_PACKAGES:
            return False
        return len(node.args) == 2 and self._kinds.may_live(node.args[1])


def _is_starred(base: Node) -> bool:
    """Whether only `from … import *` can bind a name: what is asked for functions then is a package, as a rule."""
    module = base.function.module
    bound = module.top.finals.get(str(base.extra))  # a name that is only read there stands for itself
    return base.op is Op.GLOBAL and module.starred and (bound is None or bound.op is Op.GLOBAL)


def _is_mapping(made: Class) -> bool:
    """Whether objects of a class hold what they are made of, as dictionaries do."""
    return any(name(base) in _MAPPINGS for one in made.lineage() for base in one.bases)


def _spread(args: tuple[Node, ...]) -> tuple[Node, ...]:
    """What a function gets, one by one where it stands in lists: `grad([loss], [x], [weight])`."""
    return tuple(one for each in args for one in (each.args if each.op is Op.SEQUENCE else (each,)))


def _states(call: Node) -> tuple[Node, ...]:
    """What a recurrent network is given beside its input."""
    return call.args[2:]


_READ_PACKAGES = frozenset({"torch", "torchvision", "numpy", "builtins"})
"""Packages whose functions leave values where they are, as far as the catalogue does not say otherwise."""
_MAPPINGS = frozenset({"builtins.dict", "collections.OrderedDict", "collections.UserDict"})
_COPYING = frozenset({"builtins.dict", "builtins.list", "builtins.tuple", "builtins.sorted", "collections.OrderedDict"})
"""What gives the elements of what it gets."""
_GIVING_ITSELF = rows.CHANGING_MODULES | {"clone"}
"""Methods of modules that give the module back."""
_OF_METRICS = frozenset({"update", "forward"})
"""Methods of metrics that take values as they are, and fail where these are elsewhere."""
_KEEPING = frozenset(
    {"load_state_dict", "type", "register_buffer", "add_module", "register_module", "register_forward_hook"}
    | {"append", "extend", "insert", "generate_square_subsequent_mask"}
)
"""Methods of modules that compute nothing with them."""
_NO_FLOW = frozenset(
    {Effect.READ, Effect.ARRAY, Effect.OTHER, Effect.MODULE, Effect.FACTORY, Effect.HOST, Effect.LOAD, Effect.SYNC}
)
