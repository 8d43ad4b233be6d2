"""Which parts of batches are surely tensors, which have `.to`."""

import ast

from devfix_codemods.catalogue import Kind, libraries
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import reads_key
from devfix_codemods.placement.displays import LEFT
from devfix_codemods.placement.fed_models import FED
from devfix_codemods.placement.graph import OF_BATCHES, Birth, Turn
from devfix_codemods.placement.left_reads import READ
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.detection import detecting
from devfix_codemods.repairs.elements import star_of
from devfix_codemods.repairs.siblings import count_moved, is_container


def is_surely_tensor(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether a part of a batch has `.to`: it may be a list of texts as well."""
    node, meeting = conflict.birth.node, conflict.meeting
    if conflict.birth.birth not in OF_BATCHES or analysis.kinds.of(node) in _WITH_TO:
        return True
    fields = _fields(analysis, node)
    if not fields.isdisjoint(libraries.FIELDS_OF_GRAPHS):
        return True  # graphs of DGL have `.to`
    if fields - _OF_TENSORS:
        return False
    left = any(one.link == LEFT for one in analysis.graph.edges[node])
    if (
        left
        or _is_moved_elsewhere(analysis, conflict)
        or _is_converted(node)
        or _is_computed_twin(conflict)
        or detecting(analysis, node) is not None
    ):
        return True
    if _is_given_to_loss(analysis, node):
        return True
    if any(one.link.startswith(_ALIKE) for one in analysis.graph.edges[node]) and _is_needed(conflict):
        return True  # others of its name, or its making, are moved
    if meeting is None or (meeting.before is None and node not in meeting.node.args):
        return False
    operand = meeting.before.node if meeting.before is not None else node
    operation = meeting.node
    if operation.op is not Op.CALL or operand not in operation.args:
        loaded = conflict.birth.birth is Birth.LOADER or _is_measured(analysis, node)
        return (operation.op in {Op.OPERATION, Op.COMPARE} and loaded) or operation.extra == "MatMult"
    if (
        analysis.births.loaders.may_be_none(node)
        or analysis.kinds.says(node, Kind.TEXT)
        or (reads_key(node) and conflict.end.node not in operation.args)
    ):
        return False
    if is_container(analysis, node) or star_of(operand, operation) is not None:
        return any(one.edge.turn is Turn.OUT for one in conflict.path) or star_of(node, operation) is not None
    collated = analysis.births.loaders.is_tensor(node)
    if collated or count_moved(analysis, node) > 1 or operation.args[0].extra in libraries.COMPUTING:
        return True
    first = operation.args[1:2] == (operand,)
    return first or analysis.is_loss(operation)


def _is_moved_elsewhere(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether others move what is read here, or a model gets a value that nothing takes apart."""
    return conflict.birth.links[0].startswith(READ) or (
        FED in conflict.links and not is_container(analysis, conflict.birth.node)
    )


_WITH_TO = frozenset({Kind.TENSOR, Kind.ENCODING})


def _fields(analysis: Analysis, node: Node) -> set[object]:
    """The attributes that are read of a value, or of what has its name: `rays.origins`, which no tensor has, so that it
    is not known whether `.to` is there."""
    same = {node, *(analysis.called[node.syntax.id] if isinstance(node.syntax, ast.Name) else ())}
    called = {one.args[0] for one in analysis.module.of(Op.CALL)}
    return {
        user.extra
        for each in same
        if each.function is node.function
        for user in analysis.module.users.get(each, ())
        if user.op is Op.ATTR and user not in called and user.args[0] is each
    }


_OF_TENSORS = rows.PLAIN_ATTRIBUTES | rows.TENSOR_ATTRIBUTES


def _is_needed(conflict: Conflict) -> bool:
    """Whether a value meets another one, whatever others of its name say."""
    return not any(link.startswith(_ALIKE) for link in conflict.links)


_ALIKE = ("loop-", "twin-")


def _is_computed_twin(conflict: Conflict) -> bool:
    """`mask.repeat(2)` beside `ids.repeat(2).to(device)`: a method that gives tensors there gives one here."""
    node = conflict.birth.node
    computed = node.op is Op.CALL and node.args[0].op is Op.ATTR and name_of(node.args[0]) is None
    return computed and any(one.startswith("twin-") for one in conflict.links)


def _is_measured(analysis: Analysis, node: Node) -> bool:
    """`x.shape`, `x.size(0)`: what a tensor is added to, and has a shape, is a tensor."""
    users = analysis.module.users.get(node, ())
    return any(one.op is Op.ATTR and one.args[0] is node and one.extra in {"shape", "size"} for one in users)


def _is_given_to_loss(analysis: Analysis, node: Node) -> bool:
    """Whether a loss gets a value by itself, or what a method makes of it: with one number of it, it gets tensors."""
    made = [one for one in analysis.module.users.get(node, ()) if one.op is Op.ATTR and one.args[0] is node]
    methods = [call for one in made for call in analysis.module.users.get(one, ()) if call.args[0] is one]
    return any(
        user in analysis.kinds.losses_by_name and given in user.args[1:]
        for given in (node, *methods)
        for user in analysis.module.users.get(given, ())
    )


def _is_converted(node: Node) -> bool:
    """`x.float()`: of what loaders give, a tensor alone has that method."""
    callees = (one.args[0] for one in node.function.nodes if one.op is Op.CALL and len(one.args) == 1)
    return any(one.op is Op.ATTR and one.args[0] is node and one.extra in rows.CONVERSIONS for one in callees)
