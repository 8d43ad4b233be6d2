"""Factories: what makes tensors on the host unless it is told a device, of numbers, arrays and distributions."""

from functools import cached_property
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, libraries, method_effect
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import calls_builtin, has_device, is_false, keyword
from devfix_codemods.placement.dimensions import shaped
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.indices import is_of_tensor, slices
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.moves import Moves
from devfix_codemods.placement.naming import is_bound_to_host
from devfix_codemods.placement.places import HOST, Place, Where, place_of

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

ROWS = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.HOST, Effect.DRAW})
"""What makes tensors."""
MASK = "generate_square_subsequent_mask"
MAKING = frozenset({"sample", "rsample", MASK})
"""Methods that make tensors."""


class Factories:
    """Adds the tensors that one file makes to the graph."""

    def __init__(self, births: "Births", moves: Moves) -> None:
        self._births = births
        self._module = births.module
        self._kinds = births.kinds
        self._graph = births.graph
        self._defaults = births.defaults
        self._moves = moves

    def function(self, node: Node, qualified: str) -> None:
        """A call of what has one of the `ROWS`."""
        row = effect(qualified)
        if row is Effect.HOST:
            self._from_host(node)
        elif row is not Effect.DRAW:
            self._made(node, qualified, converts=row is Effect.CONVERSION)
        elif qualified == "torch.normal" and self._draws_of_numbers(node):
            self._made(node, qualified)

    def method(self, node: Node, base: Node, method: str) -> None:
        """A call of one of the methods that are `MAKING` something."""
        if method == MASK:
            self.function(node, f"torch.nn.Transformer.{MASK}")
        else:
            self._sampled(node, base)

    def _sampled(self, node: Node, distribution: Node) -> None:
        """`Normal(0, 1).sample()`: what a distribution of numbers gives is born where it is asked."""
        if self._kinds.find(distribution) in self._of_numbers:
            self._graph.add(Source(node, HOST, Birth.ARRAY, ("factory",), scalar=len(node.args) < 2))

    def kept(self, dataset: Node) -> None:
        """What a dataset keeps is on the host by convention: workers and pinned memory need it there."""
        for one in dataset.args[1:]:
            self._graph.flows(one, dataset, "element", dataset.guard)
        self._graph.add(Source(dataset, HOST, Birth.CHOSEN_HOST, ("kept-in-dataset",)))

    def _made(self, node: Node, qualified: str, *, converts: bool = False) -> None:
        if has_device(node):
            self._moves.placed(node)
            return
        if self.is_told_place(node) or self._has_generator(node):
            return  # the generator has to be where the tensor is made: moving one alone fails
        link = "factory"
        scalar = False
        if converts:
            if len(node.args) < 2 or self._is_tensor(node.args[1], node.guard) or self._is_of_moved(node.args[1]):
                return
            scalar, link = self._is_number(node.args[1])
            if node in self._shaped:
                scalar, link = False, "conversion"
        elif qualified.rpartition(".")[2] in _SIZED and len(node.args) > 1:
            first = node.args[1]
            scalar = first.op is Op.SEQUENCE and not first.args
        pinned = keyword(node, "pin_memory")
        takes_device = pinned is None or is_false(pinned)  # only memory of the host can be pinned
        self._graph.add(Source(node, HOST, Birth.FACTORY if takes_device else Birth.ARRAY, (link,), scalar))

    def _has_generator(self, made: Node) -> bool:
        """`torch.rand(3, generator=source)`, and `rows.uniform_(0, 1, generator=source)` behind it."""
        calls = [made]
        for one in calls:  # grows
            if keyword(one, "generator") is not None:
                return True
            methods = [each for each in self._module.users.get(one, ()) if each.op is Op.ATTR and not name(each)]
            calls += (call for each in methods for call in self._module.users.get(each, ()) if call.args[:1] == (each,))
        return False

    def _is_of_moved(self, value: Node) -> bool:
        """`solver.table` of `solver = Solver(3).to(device)`, `rows[0]` of `rows = rows.to(device)`: what is a tensor
        already stays where it is."""
        while value.op in {Op.ATTR, Op.ITEM}:
            value = value.args[0]
            if self._births.is_move(value):
                return True
        return False

    def _is_tensor(self, given: Node, guard: Guard) -> bool:
        known = self._kinds.of(given) is Kind.TENSOR and not self._kinds.is_row(given)
        return known and not is_no_tensor(given, guard)

    def _from_host(self, node: Node) -> None:
        """`torch.from_numpy(x)`"""
        if self.is_told_place(node) or any(map(self._is_of_callers_tensor, node.args[1:2])):
            return
        device = keyword(node, "device")
        place = place_of(device, self._kinds) if device is not None else None
        if device is not None and place is not None and place != HOST:  # which it does not take
            self._graph.add(Source(device, Place(Where.DEVICE, device), Birth.MOVE, ("certain",)))
            self._graph.supports(node, device, "certain", node.guard)
        link = "array-of-tensors" if any(is_of_tensors(one, self._births) for one in node.args[1:2]) else "array-made"
        self._graph.add(Source(node, HOST, Birth.ARRAY, (link,)))

    def _is_of_callers_tensor(self, given: Node) -> bool:
        """`torch.BoolTensor(x == 0)`: what takes tensors of the host alone fails itself where a caller's is on a
        device, whatever is done with the result."""
        found = [given]
        for one in found:  # grows
            found += one.args if one.op in _COMPUTED and len(found) < MOST_OPERANDS else ()
        tensors = any(one.op is Op.PARAM and self._kinds.of(one) is Kind.TENSOR for one in found[1:])
        return tensors and self._kinds.of(given) is Kind.TENSOR

    def is_told_place(self, node: Node) -> bool:
        """Whether something else than a call says where what it makes is."""
        return (
            self._defaults.is_under_device(node)
            or self._defaults.are_set
            or self._is_lazy
            or node.function in self._births.host_functions
            or is_bound_to_host(node)
        )

    @cached_property
    def _is_lazy(self) -> bool:
        """Whether the file converts models, whose tensors have no place."""
        return self._defaults.imports(libraries.LAZY)

    def _is_number(self, node: Node) -> tuple[bool, str]:
        """Whether a conversion gives a 0-dim tensor, and how sure that is."""
        if node.op is Op.CONST or (node.op is Op.OPERATION and all(one.op is Op.CONST for one in node.args)):
            return True, "conversion"
        if node.op is Op.PHI and any(self._kinds.of(one) is Kind.NUMBER or one.op is Op.CONST for one in node.args):
            return False, "maybe-scalar"
        if node.op is Op.ITEM and not any(slices(one) for one in node.args[1:]):
            return False, "maybe-scalar"
        if self._is_row(node):
            return False, "conversion"
        if self._kinds.of(node) is Kind.NUMBER:
            return True, "conversion"
        return False, "maybe-scalar"

    def _is_row(self, node: Node) -> bool:
        """Whether a value has elements: a display, an array, what is computed of one."""
        if node.op in {Op.SEQUENCE, Op.COMPREHENSION} or self._kinds.of(node) in {Kind.ARRAY, Kind.SEQUENCE}:
            return True
        if node.op is Op.OPERATION:
            return any(map(self._is_row, node.args))
        if node.op is Op.ITEM and any(map(is_of_tensor, node.args[1:])):
            return True  # what a slice picks
        callee = node.args[0] if node.op is Op.CALL else None
        if callee is None or callee.op is not Op.ATTR or name(callee) is not None:
            return calls_builtin(node, "sorted", "list", "tuple")
        return callee.extra in {"astype", "reshape", "copy", "transpose"} and self._is_row(callee.args[0])

    @cached_property
    def _shaped(self) -> set[Node]:
        return shaped(self._module, self._births.attributes, self._kinds)

    # Distributions

    def _draws_of_numbers(self, node: Node) -> bool:
        return all(one.op in {Op.CONST, Op.SEQUENCE} or self._kinds.of(one) is Kind.NUMBER for one in node.args[1:])

    @cached_property
    def _of_numbers(self) -> set[Node]:
        """Distributions of numbers, which live on the host and have no `device=`, unless an attribute of theirs is
        set."""
        refilled = {self._kinds.find(store.base) for store in self._module.stores if store.is_attribute}
        made = {
            self._kinds.find(node)
            for node in self._module.of(Op.CALL)
            if (name(node.args[0]) or "").startswith("torch.distributions.")
            and not self.is_told_place(node)
            and self._draws_of_numbers(node)
        }
        return made - refilled


_SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn", "full"})


def is_of_tensors(value: Node, births: "Births") -> bool:
    """Whether an array is made of tensors by what is not read, with no copy to the host in sight."""
    pending, seen = [value], set[Node]()
    while pending and len(seen) < 40:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        if births.kinds.of(one) is Kind.TENSOR:
            return True
        if one.op in {Op.ITEM, Op.SEQUENCE, Op.PHI, Op.AFTER}:
            pending += one.args
        elif one.op is Op.CALL and _may_read(one):
            pending += one.args[1:]
    return False


def _may_read(call: Node) -> bool:
    """Whether the contents of what a call gets may go into its result: not of what asks for sizes, and copies."""
    callee = call.args[0]
    if found := names(callee):
        return effect(canonical(found[0])) in {None, Effect.ARRAY}
    return callee.op is not Op.ATTR or method_effect(str(callee.extra)) is None


_COMPUTED = frozenset({Op.COMPARE, Op.OPERATION, Op.ITEM})
MOST_OPERANDS = 20
"""How many operands are asked whether one of them is a parameter."""
