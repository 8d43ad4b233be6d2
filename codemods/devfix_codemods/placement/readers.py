"""Readers: numpy and its like want what they are given on the host. What they are told, and where that says more."""

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue.libraries import METHODS_OF_TENSORS
from devfix_codemods.catalogue.torch import PLAIN_ATTRIBUTES
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import key, name, names
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import HOST

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class Readers:
    """Adds to the graph of a file what is wanted on the host."""

    def __init__(self, births: "Births") -> None:
        self._graph = births.graph
        self._kinds = births.kinds
        self._read: dict[Node, list[Guard]] = defaultdict(list)
        """Under which conditions each value is read without a copy."""
        self._copied: dict[Node, list[Guard]] = defaultdict(list)
        """Under which conditions each is copied to the host first."""

    def function(self, call: Node, qualified: str) -> None:
        """`np.asarray(x)`. `np.mean(x)` asks the tensor's own method, which works anywhere."""
        if qualified in METHODS_OF_TENSORS:
            return
        for one in (each for given in call.args[1:] for each in _shown(given)):
            if self._kinds.of(one) is Kind.TENSOR:
                self._wanted(one, call)

    def method(self, call: Node, base: Node) -> None:
        """`x.numpy()`; with `force=True` it copies by itself."""
        forced = isinstance(call.extra, tuple) and "force" in call.extra
        if not forced and self._kinds.of(base) in {Kind.TENSOR, None}:
            self._wanted(base, call)

    def copied(self, call: Node) -> None:
        """`x.cpu()`"""
        self._copied[_origin(call)].append(call.guard)

    def _wanted(self, value: Node, call: Node) -> None:
        if (("isinstance", key(value), "torch.Tensor"), False) in call.guard:
            return
        self._read[_origin(value)].append(call.guard)
        self._graph.add(Source(value, HOST, Birth.READER, ("needs-host",), under=call.guard))

    def flags(self) -> None:
        """One branch copies a value to the host for numpy, the other does not: there, all is on the host already."""
        for origin, guards in self._read.items():
            for guard in guards:
                for atom, holds in guard:
                    if _asks_about_tensor(atom):
                        continue
                    if any((atom, not holds) in copied for copied in self._copied.get(origin, ())):
                        self._graph.host_only.add((atom, holds))


def _shown(node: Node) -> Iterator[Node]:
    """A value, or what stands in a display: `DataFrame({"total": [total]})`."""
    if node.op in {Op.SEQUENCE, Op.MAPPING}:
        for one in node.args:
            yield from _shown(one)
    else:
        yield node


def _asks_about_tensor(atom: Hashable) -> bool:
    """`x.requires_grad`: what says nothing of the place."""
    return isinstance(atom, tuple) and atom[0] == "attr" and atom[2] in PLAIN_ATTRIBUTES - {"is_cuda", "device"}


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


def _origin(node: Node) -> Node:
    """What is read in `torch.max(out, 1)[1].cpu().data`: `out`."""
    while True:
        if node.op in {Op.ATTR, Op.ITEM}:
            node = node.args[0]
        elif node.op is Op.CALL and node.args[0].op is Op.ATTR and name(node.args[0]) is None:
            if method_effect(str(node.args[0].extra)) is None:
                return node
            node = node.args[0].args[0]
        elif node.op is Op.CALL and (name(node.args[0]) or "").startswith("torch.") and len(node.args) > 1:
            node = node.args[1]
        else:
            return node
