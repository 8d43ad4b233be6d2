"""Moves where an attribute is used: each operation in which it meets what is elsewhere gets a copy there."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.attributes import Kept
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.source import Source as File

MANY = 3
"""Moves beyond which the attribute is to be made elsewhere."""
MOST_VALUES = 60


def moved_at_uses(
    analysis: Analysis, source: File, attribute: Kept, conflict: Conflict
) -> tuple[tuple[Edit, ...], str] | None:
    """The edits that move the attribute in each operation, and the device; None where one of them cannot be written."""
    edits: dict[Edit, None] = {}
    device = ""
    for operand, operation in _meetings(analysis, attribute):
        found = _moved(analysis, source, operand, operation, conflict)
        if found is None:
            return None
        edits[found[0]] = None
        device = device or found[1]
    return (tuple(edits), device) if edits and len(edits) <= MANY else None


def _moved(
    analysis: Analysis, source: File, operand: Node, operation: Node, conflict: Conflict
) -> tuple[Edit, str] | None:
    syntax, point = operand_syntax(operand, operation), before(operation)
    if syntax is None or point is None or _is_written(operand, operation):
        return None
    device = _device_of_others(operand, operation, point, analysis)
    if device is None:
        device = next((one.device for one in suffixes(analysis, conflict, point) if one.device), None)
    if device is None:
        return None
    return ReplaceExpression(source.span(syntax), f"__node__.to({device})"), device


def _meetings(analysis: Analysis, attribute: Kept) -> Iterator[tuple[Node, Node]]:
    """The operations in which a value of the attribute meets what may be elsewhere, each with that value."""
    for read in _reads(analysis, attribute):
        yield from _met_by(analysis, read)


def _reads(analysis: Analysis, attribute: Kept) -> Iterator[Node]:
    field = attribute.owner.field_of(attribute.name)
    for function in analysis.module.functions:
        for node in function.nodes:
            if node.op is Op.ATTR and node.extra == attribute.name and function.name != "__init__":
                owner = analysis.kinds.class_of(node.args[0])
                if owner is not None and owner.field_of(attribute.name) is field:
                    yield node


def _met_by(analysis: Analysis, read: Node) -> Iterator[tuple[Node, Node]]:
    """Where what is made of one value on the host meets others."""
    seen, pending = {read}, [read]
    for one in pending:  # grows
        for edge in analysis.graph.edges.get(one, ()):
            other = edge.other
            if other in seen or len(seen) > MOST_VALUES or other.function is not read.function:
                continue
            if edge.turn is Turn.MEET and _is_operand(one, other):
                if edge.link.startswith("index") or not _meets_elsewhere(analysis, one, other, seen):
                    continue
                yield one, other
            elif edge.turn in {Turn.SAME, Turn.UP, Turn.OUT} and one.index < other.index and other.op is not Op.FIELD:
                seen.add(other)
                pending.append(other)


def _is_operand(value: Node, operation: Node) -> bool:
    callee = operation.args[0] if operation.op is Op.CALL else None
    in_row = any(one.op is Op.SEQUENCE and value in one.args for one in operation.args)
    return (
        value in operation.args or in_row or (callee is not None and callee.op is Op.ATTR and value is callee.args[0])
    )


def _meets_elsewhere(analysis: Analysis, operand: Node, operation: Node, host: set[Node]) -> bool:
    """Whether another operand is where the caller put it, or on a device."""
    others = [one for one in _operands(operation) if one is not operand and one not in host]
    return any(_is_elsewhere(analysis, one) for one in others)


def _operands(operation: Node) -> Iterator[Node]:
    for one in operation.args:
        yield from one.args if one.op is Op.SEQUENCE else (one,)
    if operation.op is Op.CALL and operation.args[0].op is Op.ATTR:
        yield operation.args[0].args[0]


def _is_elsewhere(analysis: Analysis, node: Node) -> bool:
    """Whether a value is computed of what is given, moved, or comes from a module, and not made on the host."""
    seen, pending = {node}, [node]
    for one in pending:  # grows
        places = [source.place.where for source in analysis.graph.sources.get(one, ())]
        if any(place is not Where.HOST for place in places) and analysis.kinds.of(one) is not Kind.NUMBER:
            return True
        if one.op is Op.CALL and analysis.kinds.is_module(one.args[0]):
            return True
        picked = one.op is Op.ITEM and analysis.kinds.of(one.args[0]) is Kind.TENSOR
        for other in () if places else one.args[:1] if picked else one.args:
            if other not in seen and len(seen) < MOST_VALUES and other is not one.function.self_node:
                seen.add(other)
                pending.append(other)
    return False


def _is_written(operand: Node, operation: Node) -> bool:
    """`self.t.add_(x)`: a copy would be written instead."""
    callee = operation.args[0] if operation.op is Op.CALL else None
    if callee is not None and callee.op is Op.ATTR and callee.args[0] is operand:
        return str(callee.extra).endswith("_")
    return isinstance(operation.syntax, ast.AugAssign) and operation.args[0] is operand


# Expressions


def operand_syntax(operand: Node, operation: Node) -> ast.expr | None:
    """The expression that stands for an operand in its operation, if it is the only one."""
    found = [syntax for value, syntax in _expressions(operation) if value is operand]
    return found[0] if len(found) == 1 else None


def _expressions(operation: Node) -> Iterator[tuple[Node, ast.expr]]:
    """Operands, and what is written for them."""
    args = operation.args
    match operation.syntax:
        case ast.BinOp(left=left, right=right):
            yield from zip(args, (left, right))
        case ast.Compare(left=left, comparators=others):
            yield from zip(args, (left, *others))
        case ast.AugAssign(value=value):
            yield args[-1], value
        case ast.Subscript(value=value):
            yield args[0], value
        case ast.Call(func=func, args=given, keywords=named):
            if args[0].op is Op.ATTR and isinstance(func, ast.Attribute):
                yield args[0].args[0], func.value
            for given_node, syntax in zip(args[1:], [*given, *(one.value for one in named)]):
                yield given_node, syntax
                if isinstance(syntax, ast.Tuple | ast.List) and given_node.op is Op.SEQUENCE:
                    yield from zip(given_node.args, syntax.elts)


def _device_of_others(operand: Node, operation: Node, point: Point, analysis: Analysis) -> str | None:
    """`x.device`, of another operand that has a name, or that is computed of one."""
    for other in _operands(operation):
        if other is operand or not _is_elsewhere(analysis, other):
            continue
        name = _name_of(other, point, analysis)
        if name is not None:
            return f"{name}.device"
    return None


def _name_of(value: Node, point: Point, analysis: Analysis) -> str | None:
    """What a tensor is called here, or one that it is the same place as."""
    seen, pending = {value}, [value]
    for one in pending:  # grows
        name = next((key for key, each in point.environment.items() if each is one and isinstance(key, str)), None)
        if name is not None and _has_device(one, analysis):
            return name
        for edge in analysis.graph.edges.get(one, ()):
            other = edge.other
            earlier = other.index < one.index and other.function is value.function
            if earlier and edge.turn in {Turn.SAME, Turn.MEET} and other not in seen and len(seen) < MOST_VALUES:
                seen.add(other)
                pending.append(other)
    return None


def _has_device(value: Node, analysis: Analysis) -> bool:
    kind = analysis.kinds.of(value)
    if value is value.function.self_node or value.op is Op.GLOBAL:
        return False
    return kind is Kind.TENSOR or (kind is None and value.op is not Op.CALL)
