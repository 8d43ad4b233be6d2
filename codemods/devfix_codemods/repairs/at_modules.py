"""The device of a module at hand: of its input, of a parameter of its own, of one that is called."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.operands import is_index
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.held import carried_by, has_weight, is_at_module
from devfix_codemods.repairs.points import Point
from devfix_codemods.repairs.suffix import Suffix


def of_called(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`next(model.parameters()).device`: where a module is that has a name here, and that the path leads through."""
    if conflict.birth.birth not in _GIVEN:
        return
    names = point.names
    for one in conflict.path:
        callee = one.node.args[0] if one.node.op is Op.CALL else None
        if callee is None or callee not in names or callee is point.node.function.self_node:
            continue
        if analysis.kinds.is_module(callee) and not analysis.kinds.is_loss(callee):  # losses have no parameters
            text = f"next({names[callee]}.parameters()).device"
            yield Suffix(f".to({text})", text)


_GIVEN = frozenset({Birth.LOADER, Birth.SIBLING})
"""What modules are given, as against what is made for something else."""


def of_module(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """Where the module of this method is: by its input, by a parameter of its own."""
    function = point.node.function
    itself, owner = function.self_node, function.owner
    if not is_at_module(conflict, owner):
        return
    if owner is None or itself is None:
        yield from _of_object(analysis, conflict, point)
        return
    if owner not in analysis.kinds.module_classes or point.binds(str(itself.extra)) is not itself:
        return
    if function.name == "forward":
        yield from _of_layer(conflict, function)
        for name, node in function.parameters.items():
            if node is not itself and point.binds(name) is node and _enters(analysis, node):
                known = analysis.kinds.of(node) is Kind.TENSOR
                yield Suffix(f".to({name}.device)", f"{name}.device", follows=known)
        for bound, node in point.environment.items():
            known = isinstance(bound, str) and bound.isidentifier()
            if known and (_comes_of_part(analysis, node) or _is_part_of_input(analysis, node)):
                yield Suffix(f".to({bound}.device)", f"{bound}.device", follows=True)
    elif function.name != "__init__":
        yield from _of_layer(conflict, function)
        kept = carried_by(owner)
        if kept is not None:
            text = f"{itself.extra}.{kept}.device"
            yield Suffix(f".to({text})", text)
        elif conflict.end.place.where is Where.MODULE:
            text = f"next({itself.extra}.parameters()).device"
            yield Suffix(f".to({text})", text)


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
    return own and analysis.kinds.of(node) is Kind.TENSOR


def _comes_of_part(analysis: Analysis, node: Node) -> bool:
    """`h = self.proj(x)`: a result of a part of the module."""
    return node.op is Op.CALL and analysis.kinds.is_module(node.args[0]) and _is_part(analysis, node.args[0])


def _enters(analysis: Analysis, node: Node) -> bool:
    """Whether an input is a tensor, or is given to a module as one, and does more than pick rows."""
    if is_index(node):
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
