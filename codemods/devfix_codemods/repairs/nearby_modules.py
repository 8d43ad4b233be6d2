"""The device of a module at hand: of its input, of a parameter of its own, of one that is called."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind, canonical, effect
from devfix_codemods.catalogue.torch import MODULE_BASES, MODULE_DICT_ATTRIBUTES
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import may_be_none
from devfix_codemods.placement.graph import MADE, OF_BATCHES, Turn
from devfix_codemods.placement.operands import is_index
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.stateless_modules import is_stateless
from devfix_codemods.repairs.points import Point, means_same
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.repairs.unnamed_values import carried_by, device_side, has_weight, is_at_module


def of_called(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`next(model.parameters()).device`: where a module is that has a name here, and that the path leads through.

    What is made here may be made for something else than a module: it is one's where it meets that first.
    """
    first = next((one for one in conflict.path if one.edge.turn is Turn.MEET), None)
    made = [first] if first is not None and conflict.birth.birth in MADE else []
    follows = conflict.birth.birth in OF_BATCHES or conflict.end.under
    for one in conflict.path if follows else made:
        callee = one.node.args[0] if one.node.op is Op.CALL else None
        if callee is None or callee is point.node.function.self_node:
            continue
        called = point.names.get(callee) or _called_here(analysis, one.node, point)
        if called and analysis.kinds.is_module(callee) and not analysis.kinds.is_loss(callee):  # which have none
            text = f"next({called}.parameters()).device"
            yield Suffix(f".to({text})", text)


def _called_here(analysis: Analysis, call: Node, point: Point) -> str | None:
    """What a call calls, by its name or as an attribute of the object, where that means the same here."""
    callee, function = call.args[0], point.node.function
    own = callee.op is Op.ATTR and callee.args[0] is function.self_node
    written = call.syntax.func if isinstance(call.syntax, ast.Call) else None
    if call.function is not function or not (isinstance(written, ast.Name) or (own and written is not None)):
        return None
    return analysis.text(written) if means_same(analysis, written, call, point) else None


def of_module(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """Where the module of this method is: by its input, by a parameter of its own."""
    function = point.node.function
    itself, owner = function.self_node, function.owner
    is_own = _meets_own(analysis, conflict, owner)
    if not is_own and not is_at_module(conflict, owner):
        return
    if owner is None or itself is None:
        yield from _of_object(analysis, conflict, point)
        return
    if owner not in analysis.kinds.module_classes or point.binds(str(itself.extra)) is not itself:
        return
    if function.name == "forward":
        yield from _of_layer(conflict, function)
        for text, node in function.parameters.items():
            here = node is not itself and point.binds(text) is node and not may_be_none(node, point.guard)
            if here and _enters(analysis, node) and not analysis.births.moves_of(node):  # it is elsewhere until then
                known = analysis.kinds.of(node) is Kind.TENSOR
                yield Suffix(f".to({text}.device)", f"{text}.device", follows=known)
        for bound, node in point.environment.items():
            known = isinstance(bound, str) and bound.isidentifier()
            if known and (_comes_of_part(analysis, node) or _is_part_of_input(analysis, node)):
                yield Suffix(f".to({bound}.device)", f"{bound}.device", follows=True)
    elif function.name != "__init__" and not _runs_in_constructor(owner, function.name):
        yield from _of_layer(conflict, function)
        kept = carried_by(owner)
        if kept is not None:
            text = f"{itself.extra}.{kept}.device"
            yield Suffix(f".to({text})", text)
            return
        found = _own_device(analysis, owner) if is_own or conflict.end.place.where is Where.MODULE else None
        if found is not None:
            text = found.format(itself.extra)
            yield Suffix(f".to({text})", text)


def _meets_own(analysis: Analysis, conflict: Conflict, owner: Class | None) -> bool:
    """Whether a value meets, or ends at, a module of the class in a method of which it is made: probably the same."""
    births, kinds = analysis.births, analysis.kinds
    return owner is not None and any(
        births.class_of(one) is owner and kinds.is_module(one) for one in device_side(conflict)
    )


def _own_device(analysis: Analysis, owner: Class) -> str | None:
    """Where the parameters of an object are; a class that may be no module is asked for a layer that it keeps."""
    if analysis.kinds.has_parameters_method(owner):
        return "next({}.parameters()).device" if _may_have_parameters(analysis, owner) else None
    made = owner.methods.get("__init__")
    kept = (key[1] for key in made.finals if not isinstance(key, str)) if made is not None else ()
    layer = next((one for one in kept if has_weight(owner, one)), None)
    return f"next({{}}.{layer}.parameters()).device" if layer is not None else None


def _runs_in_constructor(owner: Class, called: str) -> bool:
    """Whether a constructor runs a method of its object, also by way of others: all is on the host there."""
    pending = ["__init__"]
    methods = {key: one for each in reversed(owner.lineage()) for key, one in each.methods.items()}
    for text in pending:  # grows
        method = methods.get(text)
        read = (one for one in method.nodes if one.op is Op.ATTR and one.args[0] is method.self_node) if method else ()
        pending += {str(one.extra) for one in read if one.extra in methods}.difference(pending)
    return called in pending


def _may_have_parameters(analysis: Analysis, owner: Class) -> bool:
    """Whether modules of a class have parameters: by what it makes, by bases that are not read, by what it calls."""
    bases = (base.args[0] if base.op is Op.ITEM else base for one in owner.lineage() for base in one.bases)
    others = (one for one in bases if one.op is not Op.CLASS and name(one) not in MODULE_BASES | _EMPTY_BASES)
    if analysis.births.holds_tensors(owner) or any(True for _ in others):
        return True
    methods = [method for one in owner.lineage() for method in one.methods.values()]
    called = (node.args[0] for method in methods for node in method.nodes if node.op is Op.CALL)
    kept = (store for method in methods for store in method.stores if store.is_attribute)
    own = MODULE_DICT_ATTRIBUTES.union(*(one.methods for one in owner.lineage()))
    calls_part = any(
        one.op is Op.ATTR and one.args[0] is one.function.self_node and one.extra not in own for one in called
    )
    return calls_part or any(_may_hold_modules(analysis, one.value) for one in kept)


def _may_hold_modules(analysis: Analysis, kept: Node) -> bool:
    """Whether a value that an object keeps may be, or hold, modules: what a call gives that is not known."""
    if kept.op in {Op.SEQUENCE, Op.COMPREHENSION, Op.MAPPING, Op.PHI}:
        return any(_may_hold_modules(analysis, one) for one in kept.args)
    kind = analysis.kinds.of(kept)
    if kind is not None:
        return kind is Kind.MODULE and not is_stateless(kept)
    made = name(kept.args[0]) if kept.op is Op.CALL else ""
    return made is None or (made != "" and effect(canonical(made)) is None and not made.startswith(_PLAIN))


_EMPTY_BASES = frozenset({"abc.ABC", "typing.Generic", "typing.Protocol", "builtins.object"})
"""Bases that bring no modules."""
_PLAIN = ("builtins.", "numpy.", "math.")
"""What makes no modules."""


def _of_layer(conflict: Conflict, function: Function) -> Iterator[Suffix]:
    """`self.embed.weight.device`: where a layer of torch is that gets the value."""
    for one in conflict.operations:
        callee = one.args[0] if one.op is Op.CALL and one.function is function else None
        if callee is None or callee.op is not Op.ATTR or callee.args[0] is not function.self_node:
            continue
        if function.owner is not None and has_weight(function.owner, str(callee.extra)):
            text = f"{callee.args[0].extra}.{callee.extra}.weight.device"
            yield Suffix(f".to({text})", text, follows=True)


def _of_object(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """Where a model is, by the name that it has outside of its class."""
    for called, node in point.visible.items():
        made = analysis.kinds.class_of(node)
        if made is not None and made in analysis.kinds.module_classes and made.field_of("") is conflict.end.node:
            text = f"next({called}.parameters()).device"
            yield Suffix(f".to({text})", text)


def _is_part_of_input(analysis: Analysis, node: Node) -> bool:
    """`x` of `x = batch["x"]`, where the module gets a batch."""
    base = node.args[0] if node.op is Op.ITEM else None
    own = base is not None and base.op is Op.PARAM and base is not base.function.self_node
    return own and analysis.kinds.of(node) is Kind.TENSOR and not analysis.births.moves_of(node)


def _comes_of_part(analysis: Analysis, node: Node) -> bool:
    """`h = self.proj(x)`: a result of a part of the module."""
    return node.op is Op.CALL and analysis.kinds.is_module(node.args[0]) and _is_part(analysis, node.args[0])


def _enters(analysis: Analysis, node: Node) -> bool:
    """Whether an input is a tensor, or is given to a module as one, and does more than pick rows."""
    if is_index(node) or node in analysis.kinds.rows:
        return False
    kind = analysis.kinds.of(node)
    if kind is not None:
        return kind is Kind.TENSOR
    return any(
        one.op is Op.CALL
        and one.args[1:2] == (node,)
        and (analysis.kinds.is_module(one.args[0]) or _is_part(analysis, one.args[0]))
        for one in node.function.nodes
    )


def _is_part(analysis: Analysis, callee: Node) -> bool:
    """`self.features`, where the class of modules keeps what it calls."""
    if callee.op is not Op.ATTR or callee.args[0] is not callee.function.self_node:
        return False
    owner = callee.function.owner
    return owner in analysis.kinds.module_classes and owner.sets(str(callee.extra))
