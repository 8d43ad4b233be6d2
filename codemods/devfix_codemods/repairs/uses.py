"""Moves where an attribute is used: each operation in which it meets what is elsewhere gets a copy there."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_none, is_optional, keyword
from devfix_codemods.placement.graph import Turn
from devfix_codemods.placement.non_tensors import may_be_number
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.attributes import Kept, is_of_any_kind
from devfix_codemods.repairs.cut import chain
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.nearby_tensors import of_tensors
from devfix_codemods.repairs.points import Point, before
from devfix_codemods.source import Source as File

MANY = 3
"""Moves beyond which the attribute is to be made elsewhere."""
MOST_VALUES = 60


@dataclass(frozen=True, slots=True)
class Moves:
    """The edits of some moves, the device of the first, and whether all devices are surely ones."""

    edits: tuple[Edit, ...]
    device: str
    sure: bool


def moved_at_uses(analysis: Analysis, source: File, attribute: Kept, conflict: Conflict) -> Moves | None:
    """What moves the attribute in each operation; None where one of the moves cannot be written."""
    edits: dict[Edit, None] = {}
    devices: list[tuple[str, bool]] = []
    for operand, operation in _meetings(analysis, attribute):
        written, point = _written_for(operand, operation), before(operation)
        if not written or point is None or _is_changed(operand, operation) or _is_number(attribute, operand, operation):
            return None
        device = _device_of_others(operand, operation, point, analysis) or _device_at(analysis, conflict, point)
        if device is None or any(_is_asked_itself(device[0], one) for one in written):
            return None
        devices.append(device)
        code = f"__node__.to({device[0]})"
        if _hands_none_on(attribute, operand, operation):
            code += " if __node__ is not None else None"
        edits.update((ReplaceExpression(source.span(one), code), None) for one in written)
    if not edits or len(edits) > MANY:
        return None
    return Moves(tuple(edits), devices[0][0], all(sure for _, sure in devices))


def _is_asked_itself(device: str, moved: ast.expr) -> bool:
    """`x.view(3).to(x.device)`, which moves nothing."""
    return f"{ast.unparse(chain(moved)[-1])}.device" == device


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
            computes = edge.turn is Turn.MEET and _is_operand(one, other)
            if computes and edge.link.startswith("index"):
                continue
            if computes and _meets_elsewhere(analysis, one, other, seen):
                yield one, other
            elif computes or (
                edge.turn in {Turn.SAME, Turn.UP, Turn.OUT} and one.index < other.index and other.op is not Op.FIELD
            ):
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


def _is_changed(operand: Node, operation: Node) -> bool:
    """`self.t.add_(x)`, `torch.add(x, y, out=self.t)`: a copy would be changed instead."""
    callee = operation.args[0] if operation.op is Op.CALL else None
    if callee is not None and callee.op is Op.ATTR and callee.args[0] is operand:
        return str(callee.extra).endswith("_")
    if keyword(operation, "out") is operand:
        return True
    return isinstance(operation.syntax, ast.AugAssign) and operation.args[0] is operand


def _is_number(attribute: Kept, operand: Node, operation: Node) -> bool:
    """Whether an operation may get a number that the attribute has as well, and that works there: `x * self.scale`."""
    callee = operation.args[0] if operation.op is Op.CALL else None
    if operand.op not in {Op.ATTR, Op.PHI} or (callee is not None and callee.op is Op.ATTR and operand in callee.args):
        return False
    if callee is not None and (name_of(callee) or "").startswith("torch.nn.functional."):  # which want tensors
        return False
    if (("isinstance", key(operand), "torch.Tensor"), True) in operation.guard:
        return False
    stores = [store for _, store in attribute.stores]
    return any(
        (is_of_any_kind(one.value) or may_be_number(one.value, one.guard)) and not _is_replaced(one, stores)
        for one in stores
    )


def _hands_none_on(attribute: Kept, operand: Node, operation: Node) -> bool:
    """Whether a call may get None where the attribute has no tensor: `F.linear(x, w, self.bias)`."""
    if (
        operation.op is not Op.CALL
        or operand not in operation.args
        or (("none", key(operand)), False) in operation.guard
    ):
        return False
    return _may_be_none(operand) or (operand.op in {Op.ATTR, Op.PHI} and _may_keep_none(attribute))


def _may_keep_none(attribute: Kept) -> bool:
    stores = [store for _, store in attribute.stores]
    begun = any(function.name == "__init__" and not store.guard for function, store in attribute.stores)
    members = [one.members[attribute.name] for one in attribute.owner.lineage() if attribute.name in one.members]
    if any(map(is_none, members)) and not begun:
        return True
    return any(_may_be_none(one.value) and not _is_replaced(one, stores) for one in stores)


def _may_be_none(value: Node) -> bool:
    return is_optional(value) or any(map(is_none, choices(value)))


def _is_replaced(store: Store, others: list[Store]) -> bool:
    """Whether another statement stores anew what one has stored, whenever that runs."""
    return any(
        other.base is store.base
        and other.guard <= store.guard
        and other.statement is not None
        and store.statement is not None
        and other.statement.lineno > store.statement.lineno
        for other in others
    )


# Expressions


def _written_for(operand: Node, operation: Node) -> list[ast.expr]:
    """The expressions that stand for an operand in its operation; none where one of them is unpacked there."""
    found = [syntax for value, syntax in _expressions(operation) if value is operand]
    return found if not any(isinstance(one, ast.Starred) for one in found) else []


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
                row = syntax.value if isinstance(syntax, ast.Starred) else syntax
                if isinstance(row, ast.Tuple | ast.List) and given_node.op is Op.SEQUENCE:
                    yield from zip(given_node.args, row.elts)


def _device_at(analysis: Analysis, conflict: Conflict, point: Point) -> tuple[str, bool] | None:
    """The device of the other end of the conflict; it is not sure where it is that of what may be no tensor."""
    found = next((one for one in suffixes(analysis, conflict, point) if one.device), None)
    if found is None or found.device is None:
        return None
    guessed = not found.follows and found.device in {one.device for one in of_tensors(analysis, conflict, point)}
    return found.device, not guessed


def _device_of_others(operand: Node, operation: Node, point: Point, analysis: Analysis) -> tuple[str, bool] | None:
    """`x.device`, of another operand that has a name, or that is computed of one."""
    for other in _operands(operation):
        if other is operand or not _is_elsewhere(analysis, other):
            continue
        name = _name_of(other, point, analysis)
        if name is not None:
            return f"{name}.device", True
    return None


def _name_of(value: Node, point: Point, analysis: Analysis) -> str | None:
    """What a tensor is called here, or one that it is the same place as."""
    seen, pending = {value}, [value]
    for one in pending:  # grows
        name = next((text for text, each in point.environment.items() if each is one and isinstance(text, str)), None)
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
    """Whether a value is surely a tensor, and no number."""
    return (
        analysis.kinds.of(value) is Kind.TENSOR and value is not value.function.self_node and value.op is not Op.GLOBAL
    )
