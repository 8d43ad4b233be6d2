"""How many dimensions tensors have, as far as what makes them says so: one element of a row is a number, a sum too."""

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.attributes import Attributes
from devfix_codemods.placement.indices import indices
from devfix_codemods.placement.kinds import Kinds

DEEPEST = 8


def holds_one(made: Node) -> bool:
    """`torch.Tensor([v])`: one value, with which a mask fills a tensor in any place, as `masked_fill` does."""
    if made.op is not Op.CALL or len(made.args) < 2:
        return False
    row, given = effect(canonical(name(made.args[0]) or "")), made.args[1]
    return row in {Effect.CONVERSION, Effect.HOST} and given.op is Op.SEQUENCE and len(given.args) == 1


class Dimensions:
    """Counts the dimensions of the values of one file."""

    def __init__(self, kinds: Kinds, attributes: Attributes) -> None:
        self._kinds = kinds
        self._attributes = attributes

    def of(self, node: Node, depth: int = 0) -> int | None:
        """The number of dimensions of a tensor, None where it is not known."""
        if depth > DEEPEST:
            return None
        if node.op is Op.CALL:
            return self._of_call(node, depth + 1)
        if node.op is Op.ITEM:
            whole, more = self.of(node.args[0], depth + 1), self._added(node)
            return whole + more if whole is not None and more is not None else None
        if node.op is Op.ITER:
            whole = self.of(node.args[0], depth + 1)
            return whole - 1 if whole else None
        if node.op is Op.ATTR:
            field = self._attributes.field(node)
            values = self._attributes.stored.get(field, []) if field is not None else []
            return self.of(values[0], depth + 1) if len(values) == 1 else None
        return None

    def _added(self, item: Node) -> int | None:
        """How many dimensions more an item has than its tensor: `x[0]` one less, `x[:, None]` one more."""
        if not item.args[1:]:
            return 0 if item.extra is ... else 1 if item.extra is None else -1
        added = 0
        for one in indices(item):
            if one.op in {Op.COMPREHENSION, Op.SEQUENCE} or self._kinds.of(one) in _OF_SEVERAL:
                return None
            constant = one.extra if one.op is Op.CONST else 0
            added += 0 if one.extra == "slice" or constant is ... else 1 if constant is None else -1
        return added

    def is_element(self, part: Node) -> bool:
        """Whether an item of a tensor, or what a loop takes of it, is a 0-dim tensor, which may meet what is on a
        device."""
        return part.op in _TAKEN and self.of(part) == 0

    def _of_call(self, call: Node, depth: int) -> int | None:
        callee = call.args[0]
        for one in names(callee)[:1]:
            return _of_display(call) if canonical(one) in rows.OF_DISPLAYS else self._of_factory(call, one)
        if callee.op is not Op.ATTR:
            return None
        if callee.extra == "flatten" and len(call.args) == 1:
            return 1
        return self.of(callee.args[0], depth) if callee.extra in _KEEPING else None

    def _of_factory(self, call: Node, qualified: str) -> int | None:
        if effect(canonical(qualified)) is not Effect.FACTORY or not isinstance(call.extra, tuple):
            return None
        made = qualified.rpartition(".")[2]
        if made in _ROWS:
            return 1
        given = [one for one, word in zip(call.args[1:], call.extra) if word is None]
        if made not in _SIZED or not given:
            return 1 if made in _SIZED and "*" in call.extra else None  # it may be a row
        if given[0].op is Op.SEQUENCE:
            return len(given[0].args)
        sizes = [one for one in given if name(one) is None]  # not `torch.float32`, nor what another file says
        if len(sizes) == 1 and self._kinds.of(sizes[0]) is Kind.SEQUENCE:
            return None
        return len(sizes) or None


def _of_display(call: Node) -> int | None:
    """The depth of `[[1.0, 2.0], [3.0, 4.0]]`."""
    first = next(iter(call.args[1:]), None)
    depth = 0
    while first is not None and first.op is Op.SEQUENCE and first.args:
        depth, first = depth + 1, first.args[0]
    return depth if depth and first is not None and first.op is Op.CONST else None


def shaped(module: Module, attributes: Attributes, kinds: Kinds) -> set[Node]:
    """Tensors that the program gives dimensions, or that have some: no numbers, whatever they are made of."""
    found: set[Node] = set()
    pending = [one.args[0] for one in module.of(Op.ITEM) if one.args]
    pending += [one.args[0].args[0] for one in module.of(Op.CALL) if _shapes(one, kinds)]
    for one in pending:  # grows
        if one in found:
            continue
        found.add(one)
        callee = one.args[0] if one.op is Op.CALL else None
        if callee is not None and callee.op is Op.ATTR and callee.extra in _KEEPING:
            pending.append(callee.args[0])
        elif one.op is Op.ATTR and (field := attributes.field(one)) is not None:
            pending += attributes.stored.get(field, [])
    return found


def _shapes(call: Node, kinds: Kinds) -> bool:
    """`x.view(-1, 3)`, but not `x.view(torch.int32)`."""
    if call.args[0].op is not Op.ATTR or len(call.args) < 2:
        return False
    return call.args[0].extra in _SHAPING and kinds.of(call.args[1]) is not Kind.DTYPE


_SHAPING = frozenset({"view", "reshape", "unsqueeze", "expand", "repeat", "tile"})
_TAKEN = frozenset({Op.ITEM, Op.ITER})
_ROWS = frozenset({"arange", "linspace", "logspace", "randperm", "hann_window", "hamming_window", "kaiser_window"})
_SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn"})
_KEEPING = frozenset({"float", "long", "double", "half", "int", "bool", "detach", "clone", "contiguous", "to", "cuda"})


_OF_SEVERAL = frozenset({Kind.TENSOR, Kind.ARRAY, Kind.SEQUENCE})
"""Indices that pick several elements."""


def is_scalar(call: Node) -> bool:
    """`x.sum()`, `torch.mean(x)`, `torch.rand(1).squeeze()`."""
    callee = call.args[0]
    qualified = name(callee)
    if qualified is not None:
        return len(call.args) == 2 and qualified.startswith("torch.") and qualified[len("torch.") :] in rows.REDUCTIONS
    if callee.op is not Op.ATTR or len(call.args) > 1:
        return False
    return callee.extra in rows.REDUCTIONS or (callee.extra == "squeeze" and _has_one_element(callee.args[0]))


def _has_one_element(node: Node) -> bool:
    """Whether a tensor is computed of one with the literal size 1, and of numbers."""
    if node.op is Op.OPERATION:
        return any(map(_has_one_element, node.args)) and all(
            _has_one_element(one) or one.op is not Op.CALL for one in node.args
        )
    if node.op is not Op.CALL:
        return False
    qualified = name(node.args[0])
    if qualified is not None:
        sizes = [one.extra for one in node.args[1:] if one.op is Op.CONST]
        return effect(canonical(qualified)) is Effect.FACTORY and len(node.args) == 2 and sizes == [1]
    callee = node.args[0]
    return callee.op is Op.ATTR and method_effect(str(callee.extra)) is Effect.SAME and _has_one_element(callee.args[0])
