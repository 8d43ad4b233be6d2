"""Sums that metrics of ignite keep on their own device, and what `update` adds to them from another."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import keyword

_UPDATES = ("update", "_update")
_LEAVING = frozenset({Effect.MOVE, Effect.CUDA, Effect.TO_HOST, Effect.SYNC, Effect.READ, Effect.NEEDS_HOST})
"""What calls do whose result is elsewhere than what they got."""
_DEVICE = "_device"
"""What metrics of ignite call the device of their sums."""


@dataclass(frozen=True, slots=True)
class Sum:
    """`self.total += added`: an accumulator that is `made` on `self._device`, and what is added to it."""

    made: Node
    added: ast.expr


def sums_across_devices(analysis: Analysis) -> Iterator[Sum]:
    """Tensors of an output that are added to accumulators on the metric's device."""
    for owner in analysis.module.classes:
        lineage = analysis.births.imported.lineage(owner)
        bases = (one for each in lineage for base in each.bases for one in names(base))
        if any(one.startswith("ignite.metrics") for one in bases):
            for function in (owner.methods[one] for one in _UPDATES if one in owner.methods):
                yield from _added(analysis, owner, function)


def _added(analysis: Analysis, owner: Class, function: Function) -> Iterator[Sum]:
    for node in function.nodes:
        if node.op is not Op.OPERATION or node.extra != "Add" or not isinstance(node.syntax, ast.AugAssign):
            continue
        kept, added = node.args
        if kept.op is Op.ATTR and kept.args[0] is function.self_node and _is_of_output(analysis, added):
            stored = analysis.births.attributes.stored.get(owner.field_of(str(kept.extra)), ())
            made = next((one for one in stored if _is_on_own_device(one)), None)
            if made is not None:
                yield Sum(made, node.syntax.value)


def _is_on_own_device(node: Node) -> bool:
    """`torch.tensor(0.0, device=self._device)`"""
    device = keyword(node, "device") if node.op is Op.CALL else None
    return device is not None and device.extra == _DEVICE and device.args[0] is node.function.self_node


def _is_of_output(analysis: Analysis, added: Node) -> bool:
    """Whether a value is a tensor that is computed from nothing but what an update gets, and is where that is."""
    if analysis.kinds.of(added) is not Kind.TENSOR or added.op is not Op.CALL:
        return False
    pending, seen, given = [added], set[Node](), False
    for one in pending:  # grows by what each is computed of
        if one in seen:  # a value of a loop is computed of itself
            continue
        seen.add(one)
        given = given or one.op is Op.PARAM
        if one.op is Op.PARAM and one is one.function.self_node:
            return False
        if one.op is Op.CALL:
            callee, qualified = one.args[0], name(one.args[0])
            row = effect(canonical(qualified)) if qualified is not None else method_effect(str(callee.extra))
            if row is None or row in _LEAVING or keyword(one, "device") is not None:
                return False
            pending += (*(callee.args if qualified is None else ()), *one.args[1:])
        elif (one.op is Op.ATTR and one.extra in rows.PLAIN_ATTRIBUTES) or one.op in {Op.GLOBAL, Op.UNKNOWN, Op.FIELD}:
            return False
        elif one.op is not Op.CONST:
            pending += one.args
    return given
