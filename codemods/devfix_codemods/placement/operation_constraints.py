"""Constraints of operations: what they compute with meets."""

import ast

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import whole
from devfix_codemods.placement.births import Births
from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.indices import is_asserted, is_tested
from devfix_codemods.placement.kinds import PLACELESS
from devfix_codemods.placement.loaders import is_no_tensor
from devfix_codemods.placement.naming import is_called_length, sounds_like_count


class Operations:
    """Adds what operations say of where their operands are to the graph of a file."""

    def __init__(self, births: Births) -> None:
        self._births = births
        self._kinds = births.kinds
        self._graph = births.graph
        self._settings: dict[Node, bool] = {}

    def operation(self, node: Node) -> None:
        """Arithmetic: its operands meet, or its result is where the only one is that may be somewhere."""
        live = tuple(one for one in node.args if self._kinds.may_live(one) and not is_no_tensor(one, node.guard))
        if len(live) == 1:
            self._graph.same(live[0], node, "certain", node.guard)
            return
        known = node in self._kinds.differentiable or any(self._kinds.of(one) is Kind.TENSOR for one in node.args)
        if not known and self._kinds.of(node) in PLACELESS:
            return
        link = "operation" if known else "operation-of-unknowns"
        self.meet(node, node.args, link, scalars=node.extra != "MatMult")
        if known and isinstance(node.syntax, ast.AugAssign):
            self._in_place(node)

    def _in_place(self, node: Node) -> None:
        """`loss += x`: what is written to has to be where the other one is, though it be a 0-dim tensor."""
        written, other = node.args
        if self._kinds.of(written) is Kind.TENSOR and self._kinds.may_live(other):
            self._graph.writes(written, other, node, "operation")

    def compare(self, node: Node) -> None:
        """A comparison of elements."""
        if set(node.extras) <= {"Is", "IsNot", "In", "NotIn"}:
            return
        if any(self._kinds.of(one) is Kind.TENSOR for one in (node, *node.args)):
            self.meet(node, node.args, "operation", scalars=True)

    def meet(self, node: Node, operands: tuple[Node, ...], link: str, *, scalars: bool) -> None:
        """All `operands` are where the others are, as surely as `link` says, or less where they may be no tensors."""
        link = "operation-in-assertion" if link == "operation" and is_asserted(node) else link
        for one in operands:
            if self._kinds.may_live(one) and not is_no_tensor(one, node.guard):
                unsure = link == "operation" and self._kinds.of(one) is None and self._kinds.of(node) is not Kind.TENSOR
                unsure = (unsure or self._may_be_number(one, link)) and not self._is_loaded(one)
                own = "operation-unknown-operand" if unsure else link
                own = "operation-maybe-number" if unsure and self._is_setting(one) else own
                own = "operation-tested-operand" if own == "operation-unknown-operand" and is_tested(one, node) else own
                own = "given-as-length" if own in _CALLS_OF_MODULES and is_called_length(one) else own
                own = "made-for-call" if own == "unknown-call" and self._is_made_for(one) else own
                self._graph.meets(one, node, own, node.guard, scalars=scalars)

    def _is_loaded(self, operand: Node) -> bool:
        """Whether a value surely comes from a loader, which makes tensors of numbers; texts and lists are computed with
        no tensor."""
        sources = self._graph.sources
        roots = self._births.roots(operand) or {operand}
        return all(any(one.links in _LOADED for one in sources.get(root, ())) for root in roots)

    def _is_made_for(self, given: Node) -> bool:
        """Whether a tensor is made here for a call that is not read: who gets it among others computes with it."""
        births = self._births
        made = (each for root in births.roots(given) for each in self._graph.sources.get(root, ()))
        return not is_called_length(given) and any(one.birth in MADE and not one.scalar for one in made)

    def _may_be_number(self, node: Node, link: str) -> bool:
        """Arithmetic takes numbers as well, and attributes often are numbers."""
        computed = node.op is Op.OPERATION and self._is_setting(node)
        named = node.op in {Op.ATTR, Op.PARAM, Op.ITEM} or computed
        return link == "operation" and self._kinds.of(node) is None and named

    def _is_setting(self, operand: Node) -> bool:
        """Whether a value is what a constructor gets, or a part of that, or is called as a number: as likely as a
        tensor it is a number of the settings, and so is what is computed of such."""
        found = self._settings.get(operand)
        if found is None:
            if operand.op is Op.OPERATION:
                found = all(one.op is Op.CONST or self._is_setting(one) for one in operand.args)
            else:
                given = whole(operand, {Op.ITEM, Op.ATTR})
                found = given.op is Op.PARAM and (given.function.name == "__init__" or sounds_like_count(operand))
            self._settings[operand] = found
        return found


_LOADED = {("loader-item",), ("collated-elsewhere",)}
_CALLS_OF_MODULES = frozenset({"module-call", "module-call-by-use", "differentiable-call", "module-method"})
"""Constraints of calls that may want lengths on the host, as packing does."""
