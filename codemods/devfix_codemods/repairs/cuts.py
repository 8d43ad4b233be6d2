"""Where a conflict is cut: by the kind of birth, as near to the birth as a device can be named."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import (
    Argument,
    Edit,
    InsertStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.callers import suits_callers
from devfix_codemods.repairs.devices import Suffix, suffixes
from devfix_codemods.repairs.points import Point, after, before
from devfix_codemods.source import Source

SAFE, UNSAFE, SUGGESTION = 0.86, 0.6, 0.35
"""From which confidence on a fix is written unasked, written with `--unsafe`, and shown at all."""

HARMLESS = 0.8, 0.42
"""The same for what changes nothing where the finding is none: following a tensor that is there, a copy for numpy."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Edits that move one value, and the words for it."""

    edits: tuple[Edit, ...]
    title: str
    sure: bool = True
    harmless: bool = False


def repair(analysis: Analysis, source: Source, conflict: Conflict) -> Fix | None:
    """The fix of a conflict, as far as it may be trusted; None where no move can stand."""
    cut = next(_cuts(analysis, source, conflict), None)
    if cut is None:
        return None
    safe, unsafe = HARMLESS if cut.harmless and not _is_asked_by_unread(conflict) else (SAFE, UNSAFE)
    confidence = conflict.confidence
    if (
        _wanted_on_host(analysis, conflict)
        or not _is_surely_tensor(analysis, conflict)
        or not suits_callers(analysis, conflict)
    ):
        safety = Safety.SUGGESTION
    elif confidence >= safe and cut.sure:
        safety = Safety.SAFE
    elif confidence >= unsafe:
        safety = Safety.UNSAFE
    else:
        safety = Safety.SUGGESTION
    return Fix(safety, cut.title, cut.edits)


def _is_asked_by_unread(conflict: Conflict) -> bool:
    """Whether only an unread function says that values belong together: it may want one of them where it is."""
    if conflict.birth.birth is Birth.READER:  # a copy on the host is one for whatever reads it
        return "unread-function" in conflict.links
    return "unknown-call" in conflict.links


def _wanted_on_host(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether the moved value would meet what needs it on the host: then the cut breaks what works."""
    return any(
        one.end.birth in {Birth.READER, Birth.CHOSEN_HOST} and one.confidence >= 0.5 * conflict.confidence
        for one in analysis.ends(conflict.birth)
    )


def _is_surely_tensor(analysis: Analysis, conflict: Conflict) -> bool:
    """Whether a part of a batch has `.to`: it may be a list of texts as well."""
    node, meeting = conflict.birth.node, conflict.meeting
    if conflict.birth.birth not in {Birth.LOADER, Birth.SIBLING} or analysis.kinds.of(node) is Kind.TENSOR:
        return True
    if meeting is None or (meeting.before is None and node not in meeting.node.args):
        return False
    operand = meeting.before.node if meeting.before is not None else node
    operation = meeting.node
    if operation.op is not Op.CALL or operand not in operation.args:
        return operation.op is Op.OPERATION and (conflict.birth.birth is Birth.LOADER or operation.extra == "MatMult")
    if _is_unpacked(operand, operation) or analysis.constraints.births.loaders.may_be_none(node):
        return False
    first = operation.args[1:2] == (operand,)
    return first or analysis.is_loss(operation)


def _is_unpacked(operand: Node, call: Node) -> bool:
    """`model(**batch)`: a mapping or a list, which has no `.to`."""
    names = call.extra if isinstance(call.extra, tuple) else ()
    return any(one is operand and each in {"*", "**"} for one, each in zip(call.args[1:], names))


def _cuts(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    handler = _BY_BIRTH[conflict.birth.birth]
    yield from handler(analysis, source, conflict)


# Factories


def _factory(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    node = conflict.birth.node
    call = node.syntax
    if not isinstance(call, ast.Call):
        return
    buffer = _buffer(analysis, source, conflict)
    if buffer is not None:
        yield buffer
        return
    point = before(node)
    for suffix in suffixes(analysis, conflict, point) if point is not None else ():
        if suffix.device is not None:
            edit = _with_device(source, call, suffix.device)
            yield Cut((edit,), f"Make it on `{suffix.device}`", harmless=suffix.follows)
        elif suffix.test is not None:
            yield from _behind_making(source, conflict, suffix)
    yield from _in_row(source, conflict)
    yield from _at_meeting(analysis, source, conflict)
    yield from _beside_sibling(analysis, source, conflict)


def _behind_making(source: Source, conflict: Conflict, suffix: Suffix) -> Iterator[Cut]:
    """`z = torch.rand(3)`, and behind it `if use_cuda: z = z.cuda()`."""
    node = conflict.birth.node
    match node.statement:
        case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value) if value is node.syntax:
            name = ast.unparse(target)
            edit = InsertStatement(source.span(node.statement), "after", suffix.statement(name))
            yield Cut((edit,), f"Move `{name}`, under the same condition as what it meets")


def _with_device(source: Source, call: ast.Call, device: str) -> RewriteCall:
    kept = [
        Argument(index, one.arg)
        for index, one in enumerate([*(ast.keyword(None, each) for each in call.args), *call.keywords])
    ]
    stars = [one for one in kept if call.keywords and one.value >= len(call.args) and one.keyword is None]  # type: ignore[operator]
    plain = [one for one in kept if one not in stars]
    return RewriteCall(source.span(call), arguments=(*plain, Argument(device, "device"), *stars))


def _buffer(analysis: Analysis, source: Source, conflict: Conflict) -> Cut | None:
    """`self.table = torch.arange(3)` in the constructor of a module: a buffer, which moves with it."""
    statement, owner = conflict.birth.node.statement, conflict.birth.node.function.owner
    if owner not in analysis.kinds.module_classes or conflict.birth.node.function.name != "__init__":
        return None
    if conflict.end.place.where not in {Where.MODULE, Where.CALLER}:
        return None
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=itself), attr=name)], value=value):
            first = conflict.birth.node.function.self_node
            if first is None or itself != first.extra or not any(one.node.op is Op.FIELD for one in conflict.path):
                return None
            text = source.segment(source.span(value))
            code = f'{itself}.register_buffer("{name}", {text}, persistent=False)'
            return Cut((ReplaceStatement(source.span(statement), code),), f"Register `{name}` as a buffer", sure=False)
    return None


def _array(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    buffer = _buffer(analysis, source, conflict)
    if buffer is not None:
        yield buffer
        return
    yield from _wrapped(analysis, source, conflict)


def _wrapped(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """The move at the end of the expression that makes the value."""
    node = conflict.birth.node
    point = before(node)
    if not isinstance(node.syntax, ast.expr) or point is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        if suffix.test is not None:
            yield from _behind_making(source, conflict, suffix)
            continue
        edit = ReplaceExpression(source.span(node.syntax), f"__node__{suffix.text}")
        yield Cut((edit,), f"Move it: `{suffix.text}`", harmless=suffix.follows)
    yield from _at_meeting(analysis, source, conflict)


def _at_meeting(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """Where nothing at the birth names a device: the operand follows another one of the operation."""
    meeting = conflict.meeting
    if meeting is None or meeting.before is None or meeting.node.function is not conflict.birth.node.function:
        return
    operand, operation = meeting.before.node, meeting.node
    others = [one for one in operation.args if one is not operand and analysis.kinds.of(one) is Kind.TENSOR]
    syntax = _operand_syntax(operand, operation)
    if syntax is None:
        return
    for other in others:
        if isinstance(other.syntax, (ast.Name, ast.arg)) or _name_at(other, operation) is not None:
            text = _name_at(other, operation)
            if text is not None:
                edit = ReplaceExpression(source.span(syntax), f"__node__.to({text}.device)")
                yield Cut((edit,), f"Move it to `{text}.device` where they meet", harmless=True)


def _operand_syntax(operand: Node, operation: Node) -> ast.expr | None:
    """The expression of an operand inside of its operation."""
    syntax = operation.syntax
    if not isinstance(syntax, ast.AST):
        return None
    name = _name_at(operand, operation)
    for one in ast.iter_child_nodes(syntax):
        if one is operand.syntax and isinstance(one, ast.expr):
            return one
        if isinstance(one, ast.Name) and one.id == name:
            return one
    return None


def _name_at(node: Node, user: Node) -> str | None:
    """What a value is called at the statement that uses it."""
    point = before(user)
    if point is None:
        return None
    return next((name for name, one in point.environment.items() if isinstance(name, str) and one is node), None)


# Elements of batches, and what stands beside moved values


def _element(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    node = conflict.birth.node
    if node.op is Op.FIELD:
        yield from _field(analysis, source, conflict)
        return
    yield from _in_row(source, conflict)
    yield from _beside_sibling(analysis, source, conflict)
    loaded = isinstance(node.syntax, ast.Subscript | ast.Attribute) and isinstance(node.syntax.ctx, ast.Load)
    if loaded or isinstance(node.syntax, ast.Call | ast.BinOp):
        yield from _wrapped(analysis, source, conflict)
        return
    yield from _behind_birth(analysis, source, conflict)


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
        yield Cut((edit,), f"Move `{name}` beside it")
        return


def _in_row(source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`x, y.cuda()`: in the same display."""
    move = conflict.end.node
    statement = move.statement
    if statement is None or not isinstance(move.syntax, ast.expr):
        return
    name = _name_at(conflict.birth.node, move)
    for row in ast.walk(statement):
        if isinstance(row, ast.Tuple) and isinstance(row.ctx, ast.Load) and move.syntax in row.elts:
            element = next((one for one in row.elts if isinstance(one, ast.Name) and one.id == name), None)
            suffix = _text_of_move(move)
            if element is not None and suffix is not None:
                edit = ReplaceExpression(source.span(element), f"__node__{suffix}")
                yield Cut((edit,), f"Move `{name}` as well")


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
    point = after(move) if simple else None
    if point is None or not _rebinds(move.statement):
        return
    name = _called(analysis, node, point)
    if name is None or _used_between(node, move):
        return
    for suffix in suffixes(analysis, conflict, point):
        edit = InsertStatement(source.span(move.statement), "after", suffix.statement(name))
        yield Cut((edit,), f"Move `{name}` beside it")
        return


def _called(analysis: Analysis, node: Node, point: Point) -> str | None:
    """What a value, or what a conversion made of it, is called at a point."""
    roots = analysis.constraints.births.roots
    for key, one in point.environment.items():
        if one is node or (one.op is not Op.PARAM and roots(one) == {node}):
            if isinstance(key, str):
                return key
            if key[0].function.self_node is key[0] and not key[1].startswith("["):
                return f"{key[0].extra}.{key[1]}"
    return None


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
        node in one.args and node.index < one.index < move.index and one.op in {Op.CALL, Op.OPERATION}
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
        edit = InsertStatement(source.span(anchor), "before" if where == "before" else "after", suffix.statement(name))
        yield Cut((edit,), f"Move `{name}`: `{suffix.text}`")


def _inside(node: Node, statement: ast.stmt) -> Point | None:
    environment = node.function.before.get(statement)
    return (
        Point(environment, node.function.guards.get(statement, node.guard), node) if environment is not None else None
    )


def _target(node: Node) -> str | None:
    """The name that a loop or an assignment gives a value."""
    syntax = node.syntax
    if isinstance(syntax, ast.Name):
        return syntax.id
    return None


# Modules and encodings


def _module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    yield from _beside_sibling_module(analysis, source, conflict)
    if conflict.birth.node.op is Op.ITEM:
        yield from _beside_sibling(analysis, source, conflict)
        yield from _behind_birth(analysis, source, conflict)
        return
    yield from _wrapped_module(analysis, source, conflict)


def _wrapped_module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    node = conflict.birth.node
    point = before(node)
    if not isinstance(node.syntax, ast.expr) or point is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        text = suffix.text.replace(", non_blocking=True", "")
        if suffix.test is not None:
            yield from _behind_making(source, conflict, suffix)
            continue
        edit = ReplaceExpression(source.span(node.syntax), f"__node__{text}")
        yield Cut((edit,), f"Move the module: `{text}`")


def _beside_sibling_module(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`D.to(device)` behind `G.to(device)`, under the same condition."""
    move, node = conflict.end.node, conflict.birth.node
    if move.op is not Op.AFTER or move.function is not node.function or move.statement is None:
        return
    point = after(move)
    if point is None or not isinstance(move.statement, ast.Expr):
        return
    name = _called(analysis, node, point)
    if name is None:
        return
    for suffix in suffixes(analysis, conflict, point):
        edit = InsertStatement(source.span(move.statement), "after", f"{name}{suffix.text}")
        yield Cut((edit,), f"Move `{name}` beside it")
        return


# Readers


def _reader(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """A copy on the host for numpy."""
    node = conflict.birth.node
    syntax = node.syntax
    reader = next((one for one in node.function.nodes if one.op is Op.CALL and _reads(one, node)), None)
    if reader is None or not isinstance(reader.syntax, ast.Call):
        return
    func = reader.syntax.func
    if isinstance(func, ast.Attribute) and func.attr == "numpy" and reader.args[0].args[0] is node:
        syntax = func.value
    else:
        given = [*reader.syntax.args, *(one.value for one in reader.syntax.keywords)]
        syntax = next((one for one, value in zip(given, reader.args[1:]) if value is node), None)
    if isinstance(syntax, ast.expr):
        edit = ReplaceExpression(source.span(syntax), "__node__.cpu()")
        yield Cut((edit,), "Copy it to the host first")


def _reads(call: Node, node: Node) -> bool:
    callee = call.args[0]
    if callee.op is Op.ATTR and callee.extra == "numpy" and callee.args[0] is node:
        return True
    return node in call.args[1:]


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
