"""Cuts of elements of batches, and of what stays behind where others are moved."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import may_be_none
from devfix_codemods.placement.displays import LEFT
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.non_tensors import is_joined, joins
from devfix_codemods.placement.search import Conflict, Step
from devfix_codemods.placement.unmoved_copies import COPIED
from devfix_codemods.repairs.cut import Cut, as_of, name_at, operand_syntax
from devfix_codemods.repairs.detection import detected, detecting
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import after, before
from devfix_codemods.repairs.readers import is_read
from devfix_codemods.repairs.readings import Reading, is_read_by, reading
from devfix_codemods.repairs.sibling_moves import (
    behind_birth,
    beside_sibling,
    in_display,
    in_row,
    is_of_comprehension,
    rank,
    where_kept,
)
from devfix_codemods.repairs.siblings import assigned, is_container, is_read_by_key_where_given, like_siblings
from devfix_codemods.repairs.unpacked import rebuilt
from devfix_codemods.repairs.wrapped import at_meeting, wrapped
from devfix_codemods.source import Source


def element(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """As its siblings are moved; what is no plain tensor, or is read on the host as well, where it is used."""
    node = conflict.birth.node
    if node.op is Op.FIELD:
        yield from _field(analysis, source, conflict)
        return
    if is_joined(node):
        yield from _where_joined(analysis, source, conflict)
        return
    conflict = like_siblings(analysis, conflict)
    if is_read(analysis, node):
        yield from _for_use(analysis, source, conflict)
        return
    if is_of_comprehension(node):
        yield from _in_copy(analysis, source, conflict)
        yield from _in_comprehension(analysis, source, conflict)
        return
    if (detection := detecting(analysis, node)) is not None:
        yield from detected(analysis, source, conflict, detection)
        return
    yield from _where_rebuilt(analysis, source, conflict)
    if is_container(analysis, node):
        yield from _at_part(analysis, source, conflict)
        yield from _rebuilt(analysis, source, conflict)
        return
    yield from in_display(analysis, source, conflict)
    yield from in_row(source, _left_in_row(analysis, conflict))
    if _is_assigned_item(node) and _moves_item(conflict.end.node):
        yield from _at_view(analysis, source, conflict)
        yield from wrapped(analysis, source, conflict)
    yield from where_kept(analysis, source, conflict)
    yield from beside_sibling(analysis, source, conflict)
    loaded = isinstance(node.syntax, ast.Subscript | ast.Attribute) and isinstance(node.syntax.ctx, ast.Load)
    if loaded:
        yield from _where_read(analysis, source, conflict, node, conflict.path)
    if loaded or isinstance(node.syntax, ast.Call | ast.BinOp):
        yield from _at_view(analysis, source, conflict)
        yield from wrapped(analysis, source, conflict)
        yield from _where_passed(analysis, source, conflict)
        return
    yield from _before_use(analysis, source, conflict)
    yield from behind_birth(analysis, source, conflict)
    yield from at_meeting(analysis, source, conflict)


def _where_passed(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`x = x.cuda()` in the function that is given the value, behind the move of another value there."""
    births, graph = analysis.births, analysis.graph
    for step in conflict.path:
        if step.edge.turn is not Turn.UP or step.node.op is not Op.PARAM:
            return
        moves = [one for one in step.node.function.nodes if births.is_move(one) and births.is_elsewhere(one)]
        ends = [end for one in moves for end in graph.sources.get(one, ())]
        if ends:
            birth = replace(conflict.birth, node=step.node)
            yield from beside_sibling(analysis, source, replace(conflict, birth=birth, end=ends[0], path=()))
            return


def _at_view(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`batch["mask"][:, :n].to(device)`: no more is moved than is needed."""
    first = next(iter(conflict.path), None)
    if first is not None and first.edge.link == "view":
        yield from wrapped(analysis, source, as_of(conflict, 0))


def _where_joined(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`torch.cat(rows).to(device)`: a list of tensors has no `.to` itself."""
    first = next(iter(conflict.path), None)
    if first is not None and joins(first.node, conflict.birth.node):
        yield from wrapped(analysis, source, as_of(conflict, 0))


def _in_copy(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`{name: value.to(device) for name, value in batch.items()}`, of a copy that is to be moved."""
    node = conflict.birth.node
    if COPIED not in conflict.birth.links:
        return
    copies = (one for one in analysis.module.users.get(node, ()) if one.op is Op.COMPREHENSION and one.args == (node,))
    for copy in copies:
        yield from _of_values(analysis, source, conflict, copy)


def _in_comprehension(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`[criterion(out, y.to(device)) for x, y in loader]`, in the operation that gets it."""
    node, operation = conflict.birth.node, next(conflict.operations, None)
    point = before(operation) if operation is not None else None
    if operation is None or point is None or not isinstance(operation.syntax, ast.AST):
        return
    children = [one.value if isinstance(one, ast.keyword) else one for one in ast.iter_child_nodes(operation.syntax)]
    meeting = conflict.meeting
    operand = meeting.before.node.syntax if meeting is not None and meeting.before is not None else None
    while isinstance(operand, ast.Call | ast.Attribute | ast.Subscript):  # `y.long()`, `y[:, 0]`
        operand = operand.func if isinstance(operand, ast.Call) else operand.value
    named = [one for one in (*children, operand) if isinstance(one, ast.Name) and isinstance(node.syntax, ast.Name)]
    syntax = next((one for one in named if one.id == getattr(node.syntax, "id", None)), None)
    for suffix in suffixes(analysis, conflict, point) if syntax is not None else ():
        if suffix.test is None and syntax is not None:
            edit = ReplaceExpression(source.span(syntax), f"__node__{suffix.text}")
            yield Cut((edit, *suffix.edits), f"Move it: `{suffix.text}`")


def _where_rebuilt(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`batch = {k: v.to(device) for k, v in batch.items()}`, of a batch that is built anew: it has no `.to` itself."""
    path = [*takewhile(lambda one: one.edge.turn is not Turn.MEET, conflict.path)]
    built = next((one.node for one in path if one.node.op is Op.COMPREHENSION), None)
    if built is not None and built.function is conflict.birth.node.function:
        yield from _of_values(analysis, source, conflict, built)


def _of_values(analysis: Analysis, source: Source, conflict: Conflict, built: Node) -> Iterator[Cut]:
    """The values of a comprehension, each moved where it stands."""
    point = before(built)
    if point is None:
        return
    (value,) = built.args
    written = built.syntax.value if isinstance(built.syntax, ast.DictComp) else getattr(built.syntax, "elt", None)
    if not isinstance(written, ast.expr) or not _is_one_value(analysis, value, written):
        return
    for suffix in suffixes(analysis, conflict, point):
        if suffix.test is None:
            edit = ReplaceExpression(source.span(written), f"__node__{suffix.text}")
            yield Cut((edit, *suffix.edits), f"Move its values: `{suffix.text}`", sure=False)


def _is_one_value(analysis: Analysis, value: Node, written: ast.expr) -> bool:
    """Whether what a comprehension holds is the part itself, or a tensor that is made of it, and no row."""
    return isinstance(written, ast.Name) or analysis.kinds.of(value) is Kind.TENSOR


def _left_in_row(analysis: Analysis, conflict: Conflict) -> Conflict:
    """The conflict with what an assignment moves that leaves the value as it is; else the conflict itself."""
    left = (one.other for one in analysis.graph.edges[conflict.birth.node] if one.link == LEFT)
    ends = [one for move in left for one in analysis.graph.sources.get(move, ())]
    return replace(conflict, end=ends[0], path=()) if ends else conflict


def _for_use(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`loss = criterion(out, y.to(device))`: numpy reads the value itself, and needs it on the host."""
    operation = next(conflict.operations, None)
    point = before(operation) if operation is not None else None
    syntax = operand_syntax(conflict.birth.node, operation) if operation is not None else None
    for suffix in suffixes(analysis, conflict, point) if point is not None and syntax is not None else ():
        if suffix.test is None and syntax is not None:
            edit = ReplaceExpression(source.span(syntax), f"__node__{suffix.text}")
            yield Cut((edit, *suffix.edits), f"Move it for this call: `{suffix.text}`", copies=True)


def _at_part(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """What is taken out of a container, which has no `.to` itself: `batch[0] if isinstance(batch, list) else batch`."""
    path = [*takewhile(lambda one: one.edge.turn is not Turn.MEET, conflict.path)]  # then it is part of a result
    at = next((i for i, one in enumerate(path) if one.edge.turn is Turn.OUT or _is_part_or_whole(one.node)), None)
    if at is None:
        return
    part = path[at].node
    if any(one.birth.node is part for one in analysis.conflicts):
        return  # which has a repair of its own
    if isinstance(part.syntax, ast.Name) and isinstance(part.statement, ast.Assign):  # `x, y = batch`
        yield from behind_birth(analysis, source, as_of(conflict, at))
    yield from _where_read(analysis, source, conflict, part, path[at + 1 :])


def _is_part_or_whole(node: Node) -> bool:
    """Whether a value is a part of something, or where a test says so the whole."""
    is_part = any(one.op is Op.ITEM and one.args[0] in node.args for one in node.args)
    return node.op is Op.PHI and isinstance(node.syntax, ast.IfExp) and is_part


def _where_read(
    analysis: Analysis, source: Source, conflict: Conflict, part: Node, path: Sequence[Step]
) -> Iterator[Cut]:
    """`batch["x"]`, where it gets a name, or in the operation that gets it: it may be read several times."""
    read = reading(part, path)
    point = read.point if read is not None else before(part)
    if point is None or not isinstance(part.syntax, ast.Subscript | ast.Attribute | ast.IfExp):
        return
    if may_be_none(part, part.guard):
        yield from _behind_name(analysis, source, conflict, read)
        return
    syntax = _spelled(part, read, conflict)
    for suffix in suffixes(analysis, conflict, point) if syntax is not None else ():
        if suffix.test is None and syntax is not None:
            edit = ReplaceExpression(source.span(syntax), f"__node__{suffix.text}")
            harmless = suffix.follows and analysis.kinds.of(part) is Kind.TENSOR
            yield Cut((edit, *suffix.edits), f"Move it: `{suffix.text}`", harmless=harmless)


def _behind_name(analysis: Analysis, source: Source, conflict: Conflict, read: Reading | None) -> Iterator[Cut]:
    """`mask = batch["mask"]`, and behind it `if mask is not None: mask = mask.to(device)`."""
    match read.statement if read is not None else None:
        case ast.Assign([ast.Name(id=name)], value) as statement if read is not None and value is read.syntax:
            for suffix in suffixes(analysis, conflict, read.behind):
                code = suffix.statement(name, may_be_none=True)
                edit = InsertStatement(source.span(statement), "after", code)
                yield Cut((edit, *suffix.edits), suffix.title(name))


def _spelled(part: Node, read: Reading | None, conflict: Conflict) -> ast.expr | None:
    """Where a part is written: in the operation that gets it, or where it gets a name or is returned."""
    named = read.statement if read is not None else None
    if read is not None and isinstance(named, ast.Assign | ast.Return) and named.value is read.syntax:
        return read.syntax
    operation = next((one for one in conflict.operations if part in one.args), None)
    if operation is None or not isinstance(operation.syntax, ast.AST):
        return None
    children = (one.value if isinstance(one, ast.keyword) else one for one in ast.iter_child_nodes(operation.syntax))
    return next((one for one in children if isinstance(one, ast.expr) and is_read_by(one, part)), None)


def _rebuilt(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`batch = {k: v.to(device) for k, v in batch.items()}`, or a list, in front of the call that unpacks it, or whose
    function reads it by keys."""
    node = conflict.birth.node
    by_key = is_read_by_key_where_given(analysis, node)
    given = (one for one in analysis.module.users.get(node, ()) if one.op is Op.CALL and node in one.args[1:])
    call = next(given if by_key else (one for one in conflict.operations if one.op is Op.CALL), None)
    point = before(call) if call is not None else None
    if call is None or point is None or call.statement is None or call.function is not node.function:
        return
    star = "**" if by_key else star_of(node, call)
    for suffix in suffixes(analysis, conflict, point) if star is not None else ():
        if star is not None and name_at(conflict.birth.node, call) is not None:
            yield from rebuilt(source, conflict.birth.node, call, suffix, star, sure=False)


def star_of(batch: Node, call: Node) -> str | None:
    """By which star a call gets the parts of a batch."""
    given = zip(call.args[1:], call.extras)
    return next((word for one, word in given if one is batch and word in {"*", "**"}), None)


def _before_use(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """A parameter, before the statement of its function that reads it first."""
    node = conflict.birth.node
    default = node.function.defaults.get(str(node.extra)) if node.op is Op.PARAM else None
    uses = [one for one in node.function.nodes if node in one.args and one.statement is not None]
    here = conflict.birth.birth is Birth.LOADER or conflict.end.node.function is node.function
    if node.op is not Op.PARAM or default is not None or not uses or not here:
        return
    first = min(uses, key=lambda one: one.index)
    point = before(first)
    anchor = first.statement
    is_chosen = "moved-on-other-path" in conflict.birth.links  # behind the choice, it is a tensor on either path
    if is_chosen:
        anchor = _around(conflict.end.node)
    if point is None or anchor is None or anchor not in getattr(node.function.syntax, "body", ()):
        return
    for suffix in suffixes(analysis, conflict, point):
        code = suffix.statement(str(node.extra), may_be_none(node, point.guard))
        edit = InsertStatement(source.span(anchor), "after" if is_chosen else "before", code, rank(node))
        yield Cut((edit, *suffix.edits), f"Move `{node.extra}`")


def _around(node: Node) -> ast.stmt | None:
    """The statement of the function's own body that a value is computed in."""
    body = getattr(node.function.syntax, "body", ())
    return next((one for one in body if any(each is node.statement for each in ast.walk(one))), None)


def _is_assigned_item(node: Node) -> bool:
    """`x = batch["x"]`, whatever is done with the item on the way."""
    return isinstance(node.syntax, ast.Subscript) and isinstance(node.statement, ast.Assign)


def _moves_item(move: Node) -> bool:
    """`batch["x"].to(device)`, where it is read."""
    call = move.syntax
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Subscript)
        and isinstance(move.statement, ast.Assign)
    )


def _field(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`self.masks = self.masks.to(device)`, behind the move of another attribute."""
    move = conflict.end.node
    point = after(move)
    itself = move.function.self_node
    if point is None or itself is None or not isinstance(move.statement, ast.Assign):
        return
    name = f"{itself.extra}.{conflict.birth.node.extra}"
    for suffix in suffixes(analysis, conflict, point):
        edit = InsertStatement(source.span(move.statement), "after", suffix.statement(name))
        yield Cut((edit, *suffix.edits), suffix.title(name, assigned(move.statement)))
        return
