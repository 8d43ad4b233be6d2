"""Values that live where a conflict ends, and have no name of their own: parts, attributes, parameters of modules."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind, canonical
from devfix_codemods.catalogue.torch import PARAMETERS
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import key, names
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.graph import MADE, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point, means_same


def items_at(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[str]:
    """`batch["x"]`, a part that is read before, and lives where the conflict ends."""
    for one in device_side(conflict):
        if (
            one.op is Op.ITEM
            and isinstance(one.syntax, ast.Subscript)
            and isinstance(one.extra, str)
            and one.index < conflict.birth.node.index
            and one.function is point.node.function
            and not point.is_none(one)
            and analysis.kinds.of(one) is Kind.TENSOR
            and means_same(analysis, one.syntax, one, point)
        ):
            yield analysis.text(one.syntax)


def parts_of_objects_at(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[str]:
    """`layer.weight` of an object that the function is given, a tensor that is read before."""
    for one in device_side(conflict):
        if (
            one.op is Op.ATTR
            and isinstance(one.syntax, ast.Attribute)
            and one.args[0] is not one.function.self_node
            and one.index < conflict.birth.node.index
            and one.function is point.node.function
            and one.guard <= point.guard
            and not point.is_none(one)
            and _is_no_array(analysis, one)
            and means_same(analysis, one.syntax, one, point)
        ):
            yield analysis.text(one.syntax)


def _is_no_array(analysis: Analysis, value: Node) -> bool:
    """Whether a value is a tensor, or the program does with it what arrays of numpy do not have: `x.size()`."""
    users = analysis.module.users
    asked = [one for one in users.get(value, ()) if one.op is Op.ATTR and one.args[0] is value]
    called = (one for one in asked if any(each.args[:1] == (one,) for each in users.get(one, ())))
    return analysis.kinds.of(value) is Kind.TENSOR or any(one.extra in _METHODS_OF_TENSORS for one in called)


_METHODS_OF_TENSORS = frozenset({"size", "dim", "numel", "detach", "clone", "new_zeros", "new_ones", "new_tensor"})
"""What arrays of numpy, lists and mappings have no method for. Source: torch.Tensor, numpy.ndarray."""


def attributes_at(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[str]:
    """`self.table`, a tensor that another method has left there."""
    function = point.node.function
    itself, owner = function.self_node, function.owner
    if itself is None or owner is None or point.binds(str(itself.extra)) is not itself:
        return
    for one in device_side(conflict):
        if one.op is Op.ATTR and one.args[0] is itself and owner.sets(str(one.extra)):
            rebound = point.environment.get((itself, str(one.extra)), None if function.name == "__init__" else one)
            if _is_born_on_host(analysis, owner.field_of(str(one.extra))) or point.is_none(one):
                continue
            if _is_asked_for_none(one) and (("none", key(one)), False) not in point.guard | point.node.guard:
                continue
            if analysis.kinds.of(one) is Kind.TENSOR and rebound in {one, owner.field_of(str(one.extra))}:
                yield f"{itself.extra}.{one.extra}"


def _is_asked_for_none(attribute: Node) -> bool:
    """Whether the function asks somewhere if an attribute is None: then it may be."""
    asked = (one for one in attribute.function.nodes if one.op is Op.COMPARE and key(one.args[0]) == key(attribute))
    return any(is_none(each) for one in asked for each in one.args[1:])


def carried_by(owner: Class) -> str | None:
    """An attribute that is a parameter of the module, or a buffer."""
    made = owner.methods.get("__init__")
    if made is None:
        return None
    for stored, value in made.finals.items():
        called = names(value.args[0]) if value.op is Op.CALL else ()
        is_parameter = any(canonical(one) in PARAMETERS for one in called)
        if is_parameter and not isinstance(stored, str) and stored[0] is made.self_node:
            return stored[1]
    return _buffer_of(made)


def _buffer_of(made: Function) -> str | None:
    """An attribute that a constructor registers as a buffer, with a tensor that it has just made."""
    for node in made.nodes:
        callee = node.args[0] if node.op is Op.CALL else None
        if callee is None or callee.extra != "register_buffer" or node.guard or len(node.args) < 3:
            continue
        if node.args[1].op is Op.CONST and node.args[2].op in {Op.CALL, Op.OPERATION}:
            return str(node.args[1].extra)
    return None


def _is_born_on_host(analysis: Analysis, field: Node) -> bool:
    """Whether a method leaves in an attribute what it makes on the host, which is misplaced as well."""
    values = (edge.other for edge in analysis.graph.edges[field] if edge.turn is Turn.DOWN)
    roots = (root for one in values for root in analysis.births.roots(one))
    sources = (source for root in roots for source in analysis.graph.sources.get(root, ()))
    registered = field in analysis.births.attributes.registered
    return not registered and any(one.birth in MADE for one in sources)


def has_weight(owner: Class, attribute: str) -> bool:
    """Whether a module keeps a layer of torch with a `weight` under that name."""
    made = owner.methods.get("__init__")
    values = [value for key, value in made.finals.items() if key == (made.self_node, attribute)] if made else []
    return any(
        value.op is Op.CALL and any(canonical(one) in WEIGHTED for one in names(value.args[0])) for value in values
    )


WEIGHTED = frozenset(f"torch.nn.{one}" for one in ("Linear", "Embedding", "Conv1d", "Conv2d", "Conv3d", "LayerNorm"))


def is_at_module(conflict: Conflict, owner: Class | None) -> bool:
    """Whether a conflict ends where a module is: at its own tensors, or at an input of the `forward` of its class."""
    if conflict.end.place.where is Where.MODULE:
        return True
    return conflict.end.links == ("forward-input",) and conflict.end.node.function.owner is owner


def device_side(conflict: Conflict) -> dict[Node, None]:
    """The values of the path from the meeting on, which all live where the conflict ends: that which is met, the last
    one, and those between."""
    nodes = [step.node for step in conflict.path]
    meeting = conflict.meeting
    start = 0
    if meeting is not None:
        operand = meeting.before.node if meeting.before is not None else conflict.birth.node
        start = nodes.index(meeting.node) + (operand in meeting.node.args)
    side = nodes[start:]
    return dict.fromkeys((*side[:1], conflict.end.node, *side[1:]))
