"""Where a conflict is cut: by the kind of birth, as near to the birth as a device can be named."""

import ast
from collections.abc import Iterator
from itertools import takewhile

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import (
    InsertStatement,
    ReplaceExpression,
)
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import has_device, reads_key
from devfix_codemods.placement.displays import moved_in
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.unregistered import UNREGISTERED
from devfix_codemods.repairs.again import moved_again
from devfix_codemods.repairs.attributes import Kept, as_buffer, kept
from devfix_codemods.repairs.callers import suits_callers
from devfix_codemods.repairs.containers import registered
from devfix_codemods.repairs.cut import (
    Cut,
    behind_making,
    called,
    name_at,
    operand_syntax,
    operands,
    row_of,
    with_keyword,
)
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.elements import at_part, before_use, for_use, rebuilt, where_read
from devfix_codemods.repairs.halves import leaves_half, meets_encoding
from devfix_codemods.repairs.indexed import index_copied, stays
from devfix_codemods.repairs.kept import is_kept_for_all
from devfix_codemods.repairs.modules import beside_module, made_module
from devfix_codemods.repairs.points import Point, after, before
from devfix_codemods.repairs.readers import copies
from devfix_codemods.repairs.siblings import assigned, comes_first, is_container, like_siblings
from devfix_codemods.repairs.suffix import Suffix
from devfix_codemods.repairs.sums import added_anew
from devfix_codemods.repairs.tensors import is_surely_tensor
from devfix_codemods.repairs.uses import moved_at_uses
from devfix_codemods.source import Source

SAFE, UNSAFE, SUGGESTION = 0.86, 0.6, 0.35
"""From which confidence on a fix is written unasked, written with `--unsafe`, and shown at all."""

HARMLESS = 0.8, 0.42
"""The same for what changes nothing where the finding is none: following a tensor that is there, a copy for numpy."""


TOGETHER = 0.9
"""How surely two tensors meet of which one may follow the other, wherever that is: this changes nothing that works."""

BUFFERS = (1, 6)
"""The torch that brought `persistent=` to `register_buffer`."""


def repair(analysis: Analysis, source: Source, conflict: Conflict) -> Fix | None:
    """The fix of a conflict, as far as it may be trusted; None where no move can stand."""
    end = conflict.end.node
    if conflict.end.birth is Birth.PARAMETER and end.op is Op.PARAM and analysis.is_plain(end):
        return None
    cut = next(_cuts(analysis, source, conflict), None)
    if cut is None:
        return None
    safety = _safety(analysis, conflict, cut)
    if safety is Safety.SAFE and leaves_half(analysis, conflict, lambda one: _is_written(analysis, source, one)):
        safety = Safety.UNSAFE
    if (
        safety is Safety.UNSAFE and leaves_half(analysis, conflict, lambda one: _has_cut(analysis, source, one))
    ) or meets_encoding(analysis, conflict, lambda one: _is_written(analysis, source, one)):
        safety = Safety.SUGGESTION
    return Fix(safety, cut.title, cut.edits, since=cut.since, effect=cut.effect)


def _has_cut(analysis: Analysis, source: Source, conflict: Conflict) -> bool:
    """Whether a conflict is shown with a fix, be it a suggestion."""
    return conflict.confidence >= SUGGESTION and next(_cuts(analysis, source, conflict), None) is not None


def _is_written(analysis: Analysis, source: Source, conflict: Conflict) -> bool:
    """Whether a conflict has a fix that is more than a suggestion."""
    if conflict not in analysis.written:
        cut = next(_cuts(analysis, source, conflict), None)
        analysis.written[conflict] = cut is not None and _safety(analysis, conflict, cut) is not Safety.SUGGESTION
    return analysis.written[conflict]


def _safety(analysis: Analysis, conflict: Conflict, cut: Cut) -> Safety:
    harmless = cut.harmless and not _is_asked_by_unread(conflict)
    safe, unsafe = HARMLESS if harmless and not conflict.is_supported else (SAFE, UNSAFE)
    confidence = conflict.confidence
    if (
        (_wanted_on_host(analysis, conflict) and not cut.copies and not cut.with_whole)
        or not is_surely_tensor(analysis, conflict)
        or not suits_callers(analysis, conflict, at_call=cut.at_call)
    ):
        return Safety.SUGGESTION
    follows = harmless and not conflict.is_supported and conflict.birth.birth is not Birth.READER
    if cut.sure and (confidence >= safe or (follows and conflict.together >= TOGETHER)):
        return Safety.SAFE
    return Safety.UNSAFE if confidence >= unsafe else Safety.SUGGESTION


def _is_asked_by_unread(conflict: Conflict) -> bool:
    """Whether only an unread function says that values belong together: it may want one of them where it is."""
    if conflict.birth.birth is Birth.READER:  # a copy on the host is one for whatever reads it
        return "unread-function" in conflict.links
    return not {"unknown-call", "made-for-call", "index-maybe-scalar"}.isdisjoint(conflict.links)


def _wanted_on_host(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether the moved value would meet what needs it on the host: then the cut breaks what works.

    An index there suits what is indexed, wherever that is.
    """
    read = conflict.birth.birth is not Birth.READER and _is_read(analysis, conflict.birth.node)
    return (
        read
        or any(one.birth is Birth.CHOSEN_HOST for one in analysis.graph.sources.get(conflict.birth.node, ()))
        or any(
            one.end.birth in {Birth.READER, Birth.CHOSEN_HOST} and one.confidence >= 0.5 * conflict.confidence
            for one in analysis.ends(conflict.birth)
            if not any(step.edge.link.startswith("index") for step in one.path)
        )
    )


def _is_read(analysis: Analysis, node: Node) -> bool:
    """Whether numpy reads the value itself."""
    return any(one.birth is Birth.READER for one in analysis.graph.sources.get(node, ()))


def _cuts(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    handler = _BY_BIRTH[conflict.birth.birth]
    yield from handler(analysis, source, conflict)


# Factories


def _factory(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    if stays(analysis, conflict) or _wanted_on_host(analysis, conflict):
        yield from index_copied(source, conflict)
    yield from _attribute(analysis, source, conflict)
    node = conflict.birth.node
    call = node.syntax
    if not isinstance(call, ast.Call):
        return
    if is_kept_for_all(analysis, node):
        yield from _at_meeting(analysis, source, conflict)
        return
    yield from _in_display(analysis, source, conflict)
    point = before(node)
    for suffix in suffixes(analysis, conflict, point) if point is not None else ():
        if suffix.device is not None:
            edit = with_keyword(source, call, suffix.device, "device")
            yield Cut((edit, *suffix.edits), f"Make it on `{suffix.device}`", harmless=suffix.follows)
        elif suffix.test is not None:
            yield from behind_making(source, conflict, suffix)
    yield from _at_call(analysis, source, conflict)
    yield from _in_row(source, conflict)
    yield from _at_meeting(analysis, source, conflict)
    yield from _beside_sibling(analysis, source, conflict)
    yield from _at_meeting(analysis, source, conflict, itself=True)
    yield from added_anew(source, conflict)


def _attribute(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """A tensor that an object keeps: a buffer, which moves with its module; else a move where it is used."""
    found = kept(analysis, conflict)
    if found is None:
        return
    if conflict.end.place.where not in {Where.MODULE, Where.CALLER}:
        yield from _begun_often(analysis, source, found, conflict)
        return
    buffer = as_buffer(analysis, source, found)
    if buffer is not None:
        title = f"Register `{buffer.name}` as a buffer that no checkpoint holds"
        harmless = buffer.whole and conflict.confidence >= UNSAFE
        yield Cut(buffer.edits, title, sure=buffer.whole, harmless=harmless, since=BUFFERS)
        return
    if not analysis.constraints.births.defaults.managed:
        moved = moved_at_uses(analysis, source, found, conflict)
        if moved is not None:
            edits, device = moved
            of_module = found.owner in analysis.kinds.module_classes
            yield Cut(edits, f"Move `{found.name}` to `{device}` where it is used", harmless=of_module)


def _begun_often(analysis: Analysis, source: Source, attribute: Kept, conflict: Conflict) -> Iterator[Cut]:
    """What several methods make anew follows what it meets."""
    made = {function for function, store in attribute.stores if analysis.graph.sources.get(store.value)}
    moved = moved_at_uses(analysis, source, attribute, conflict) if len(made) > 1 else None
    if moved is not None and moved[1].endswith(".device"):
        yield Cut(moved[0], f"Move `{attribute.name}` to `{moved[1]}` where it is used", harmless=True)


def _array(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    if stays(analysis, conflict) or _wanted_on_host(analysis, conflict):
        yield from index_copied(source, conflict)
    yield from _attribute(analysis, source, conflict)
    if has_device(conflict.birth.node):  # which it does not take
        yield from filter(None, (_without_device(source, conflict.birth.node.syntax),))
        return
    yield from _in_display(analysis, source, conflict)
    yield from _wrapped(analysis, source, conflict)


def _without_device(source: Source, call: ast.AST | None) -> Cut | None:
    """`torch.Tensor([1.0]).to(d)` for `torch.Tensor([1.0], device=d)`, which takes no device but the host."""
    given = [one for one in call.keywords if one.arg == "device"] if isinstance(call, ast.Call) else []
    if not given or not isinstance(call, ast.Call) or "#" in source.segment(source.span(call)):
        return None
    kept = [*call.args, *(one for one in call.keywords if one is not given[0])]
    texts = [source.segment(source.span(one)) for one in kept]
    function, device = (source.segment(source.span(one)) for one in (call.func, given[0].value))
    edit = ReplaceExpression(source.span(call), f"{function}({', '.join(texts)}).to({device})")
    return Cut((edit,), f"Move it behind the constructor, which takes no device: `.to({device})`")


def _wrapped(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The move at the end of the expression that makes the value."""
    node = conflict.birth.node
    point = before(node)
    if not isinstance(node.syntax, ast.expr) or point is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        if suffix.test is not None:
            yield from behind_making(source, conflict, suffix)
            continue
        edit = ReplaceExpression(source.span(node.syntax), f"__node__{suffix.text}")
        yield Cut((edit, *suffix.edits), f"Move it: `{suffix.text}`", harmless=suffix.follows)
    yield from _at_call(analysis, source, conflict)
    yield from _at_meeting(analysis, source, conflict)


def _at_call(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """What a function gives, where it is called: nearer to the meeting, a device has a name."""
    whole = takewhile(lambda one: one.edge.link != "element", conflict.path)  # a list that holds it has no `.to`
    left = (one for one in whole if one.edge.site < 0 and one.edge.turn is Turn.UP)
    calls = (one.node for one in left if one.node.op is Op.CALL)
    call = next(calls, None)
    point = before(call) if call is not None else None
    if call is None or point is None or not isinstance(call.syntax, ast.Call) or conflict.confidence < UNSAFE:
        return
    for suffix in suffixes(analysis, conflict, point):
        if suffix.test is None:
            edit = ReplaceExpression(source.span(call.syntax), f"__node__{suffix.text}")
            yield Cut((edit, *suffix.edits), f"Move it: `{suffix.text}`", at_call=True)


def _at_meeting(analysis: Analysis, source: Source, conflict: Conflict, *, itself: bool = False) -> Iterator[Cut]:
    """Where nothing at the birth names a device: the operand follows another one of the operation.

    The value `itself` is moved where one operation alone gets it.
    """
    meeting = conflict.meeting
    if meeting is None or meeting.node.function is not conflict.birth.node.function:
        return
    loaded = conflict.birth.birth in {Birth.LOADER, Birth.SIBLING}
    alone = itself and meeting.edge.link == "operation" and _count_uses(conflict.birth.node) == 1
    if meeting.before is None and not loaded and not alone:
        return
    operand, operation = meeting.before.node if meeting.before is not None else conflict.birth.node, meeting.node
    kinds = analysis.kinds
    others = [one for one in operands(operation) if one is not operand and kinds.of(one) is Kind.TENSOR]
    others = [one for one in others if not kinds.says_surely(one, Kind.NUMBER)]
    syntax = operand_syntax(operand, operation)
    if syntax is None:
        return
    shown = [edge.other for one in others for edge in analysis.graph.edges[one] if edge.turn is Turn.SAME]
    for other in (*others, *shown):
        text = name_at(other, operation)
        if text is not None and other is not operand:
            edit = ReplaceExpression(source.span(syntax), f"__node__.to({text}.device)")
            yield Cut((edit,), f"Move it to `{text}.device` where they meet", harmless=True)


def _count_uses(node: Node) -> int:
    """How many operations get a value: moved for one, it would stay where it is for the others."""
    return sum(node in one.args and one.op in _USING for one in node.function.nodes)


_USING = frozenset({Op.OPERATION, Op.CALL, Op.COMPARE, Op.SEQUENCE})


# Elements of batches, and what stands beside moved values


def _element(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    node = conflict.birth.node
    if node.op is Op.FIELD:
        yield from _field(analysis, source, conflict)
        return
    conflict = like_siblings(analysis, conflict)
    if _is_read(analysis, node):
        yield from for_use(analysis, source, conflict)
        return
    if is_container(analysis, node):
        yield from at_part(analysis, source, conflict)
        yield from rebuilt(analysis, source, conflict)
        return
    yield from _in_row(source, conflict)
    if _is_assigned_item(node) and _moves_item(conflict.end.node):
        yield from _wrapped(analysis, source, conflict)
    yield from _beside_sibling(analysis, source, conflict)
    loaded = isinstance(node.syntax, ast.Subscript | ast.Attribute) and isinstance(node.syntax.ctx, ast.Load)
    if loaded:
        yield from where_read(analysis, source, conflict, node)
    if loaded or isinstance(node.syntax, ast.Call | ast.BinOp):
        yield from _wrapped(analysis, source, conflict)
        return
    yield from before_use(analysis, source, conflict)
    yield from _behind_birth(analysis, source, conflict)
    yield from _at_meeting(analysis, source, conflict)


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


def _in_row(source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`x, y.cuda()`: in the same display."""
    move = conflict.end.node
    statement = move.statement
    if statement is None or not isinstance(move.syntax, ast.expr):
        return
    meeting = conflict.meeting
    operand = meeting.before.node if meeting is not None and meeting.before is not None else conflict.birth.node
    name = name_at(conflict.birth.node, move) or (name_at(operand, move) if operand.op is Op.PHI else None)
    for row in map(row_of, ast.walk(statement)):
        element = next((one for one in row if isinstance(one, ast.Name) and one.id == name), None)
        suffix = _text_of_move(move)
        if move.syntax in row and element is not None and suffix is not None:
            optional = f" if {name} is not None else None" if reads_key(conflict.birth.node) else ""
            edit = ReplaceExpression(source.span(element), f"__node__{suffix}{optional}")
            yield Cut((edit,), f"Move `{name}` as well")


def _in_display(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`self.x, self.y.cuda()`: where another one is moved in a display, wherever the conflict ends."""
    births, node = analysis.constraints.births, conflict.birth.node
    for row in node.function.nodes:
        if row.op is not Op.SEQUENCE or row.extra != "tuple" or row.statement is None:
            continue
        here = next((at for at, one in enumerate(row.args) if one is node or node in births.roots(one)), None)
        if here is None:
            continue
        moved = list(moved_in(births, row))
        suffix = _text_of_move(moved[0]) if moved else None
        if suffix is None or not isinstance(row.syntax, ast.Tuple):
            continue
        element = row.syntax.elts[here]
        if isinstance(element, ast.Name | ast.Attribute):
            edit = ReplaceExpression(source.span(element), f"__node__{suffix}")
            yield Cut((edit,), f"Move `{ast.unparse(element)}` as well")


def _text_of_move(move: Node) -> str | None:
    if isinstance(move.syntax, ast.Call) and isinstance(move.syntax.func, ast.Attribute):
        return f".{move.syntax.func.attr}{ast.unparse(move.syntax)[len(ast.unparse(move.syntax.func)) :]}"
    return None


def _beside_sibling(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """Behind the statement that moves the other one, under the same condition."""
    move, node = conflict.end.node, conflict.birth.node
    if conflict.end.place.where is not Where.DEVICE or move.function is not node.function or move.statement is None:
        return
    simple = isinstance(move.statement, ast.Assign | ast.Expr | ast.AnnAssign) and move.syntax is not None
    first = simple and comes_first(analysis, node, move)
    point = None if not simple else before(move) if first else after(move)
    if point is None or not _rebinds(move.statement):
        return
    name = called(analysis, node, point)
    if name is None or _used_between(node, move):
        return
    for suffix in suffixes(analysis, conflict, point):
        span = source.span(move.statement)
        edit = InsertStatement(span, "before" if first else "after", suffix.statement(name), _rank(node))
        yield Cut((edit, *suffix.edits), suffix.title(name, assigned(move.statement)))
        return


def _rebinds(statement: ast.stmt) -> bool:
    """`x = x.to(device)`, as against a call that gets a moved value."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Tuple()]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute())):
            return True
    return False


def _used_between(node: Node, move: Node) -> bool:
    """Whether the value is used before the sibling is moved, where it would still be on the host."""
    return any(
        (node in one.args or (one.op is Op.CALL and node in one.args[0].args))
        and not contradictory(one.guard, move.guard)
        and (node.index < one.index < move.index or one.statement is move.statement)
        and one.op in {Op.CALL, Op.OPERATION}
        and not (one.op is Op.CALL and (name_of(one.args[0]) or "").startswith("builtins."))  # `print(x)`
        for one in node.function.nodes
    )


def _behind_birth(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """Behind the statement that unpacks the value; in a loop, first thing in its body."""
    node = conflict.birth.node
    statement, name = node.statement, _target(node)
    if statement is None or name is None:
        return
    if isinstance(statement, ast.For | ast.AsyncFor):
        anchor, where = statement.body[0], "before"
        point = _inside(node, anchor)
    elif isinstance(statement, ast.Assign):
        anchor, where = statement, "after"
        point = after(node)
    else:
        return
    for suffix in suffixes(analysis, conflict, point) if point is not None else ():
        span, rank = source.span(anchor), _rank(node)
        edit = InsertStatement(span, "before" if where == "before" else "after", suffix.statement(name), rank)
        yield Cut((edit, *suffix.edits), suffix.title(name))


def _rank(node: Node) -> tuple[int, ...]:
    """Moves of what one statement unpacks stand in its order."""
    return (node.syntax.lineno, node.syntax.col_offset) if isinstance(node.syntax, ast.expr) else ()


def _inside(node: Node, statement: ast.stmt) -> Point | None:
    environment = node.function.before.get(statement)
    return (
        Point(environment, node.function.guards.get(statement, node.guard), node) if environment is not None else None
    )


def _target(node: Node) -> str | None:
    """The name that a loop or an assignment gives a value."""
    if isinstance(node.syntax, ast.Name):
        return node.syntax.id
    loop = node.statement
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return None
    inside = node.function.before.get(loop.body[0], {})  # `for i, x in enumerate(loader)`
    named = (one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name))
    return next((one for one in named if inside.get(one) is node), None)


# Modules


def _module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    if UNREGISTERED in conflict.birth.links:
        yield from registered(analysis, source, conflict)
        return
    yield from moved_again(analysis, source, conflict)
    yield from beside_module(analysis, source, conflict)
    if conflict.birth.node.op is Op.ITEM:
        yield from _beside_sibling(analysis, source, like_siblings(analysis, conflict))
        yield from _beside_sibling(analysis, source, conflict)
        yield from _behind_birth(analysis, source, conflict)
        return
    yield from made_module(analysis, source, conflict)
    yield from _at_call(analysis, source, conflict)


# Readers


def _reader(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """A copy on the host for numpy."""
    for edit, title in copies(analysis, source, conflict):
        yield Cut((edit,), title, harmless=True, copies=True)


_BY_BIRTH = {
    Birth.FACTORY: _factory,
    Birth.ARRAY: _array,
    Birth.LOADER: _element,
    Birth.SIBLING: _element,
    Birth.ENCODING: _wrapped,
    Birth.MODULE: _module,
    Birth.READER: _reader,
}


__all__ = ["SAFE", "SUGGESTION", "UNSAFE", "Cut", "Suffix", "repair"]
