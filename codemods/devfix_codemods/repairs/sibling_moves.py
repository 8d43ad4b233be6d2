"""A move beside that of another value: in the same display, or in a statement of its own."""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import key
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import may_be_none, reads_key, shows
from devfix_codemods.placement.device_conditions import is_of_accelerator
from devfix_codemods.placement.displays import moved_in
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.cut import Cut, called, name_at, row_of
from devfix_codemods.repairs.devices import suffixes
from devfix_codemods.repairs.points import Point, after, before
from devfix_codemods.repairs.siblings import assigned, comes_first
from devfix_codemods.source import Source


def in_row(source: Source, conflict: Conflict) -> Iterator[Cut]:
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
            is_missing = reads_key(conflict.birth.node) or may_be_none(conflict.birth.node, move.guard)
            optional = f" if {name} is not None else None" if is_missing else ""
            edit = ReplaceExpression(source.span(element), f"__node__{suffix}{optional}")
            yield Cut((edit,), f"Move `{name}` as well")


def in_display(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`self.x, self.y.cuda()`: where another one is moved in a display, wherever the conflict ends."""
    births, node = analysis.births, conflict.birth.node
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
            name = ast.unparse(element)
            optional = f" if {name} is not None else None" if may_be_none(node, row.guard) else ""
            edit = ReplaceExpression(source.span(element), f"__node__{suffix}{optional}")
            yield Cut((edit,), f"Move `{name}` as well")


def _text_of_move(move: Node) -> str | None:
    """`.to(device)`, without the type that a move of the other value asks for as well."""
    call = move.syntax
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    given = call.args[:1] if call.func.attr == "to" else call.args
    words = [ast.unparse(one) for one in (*given, *call.keywords) if getattr(one, "arg", None) != "dtype"]
    return f".{call.func.attr}({', '.join(words)})"


def where_kept(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`layer.y = y.to(device)`, where an object keeps a value that came with one that it keeps moved."""
    move, node = conflict.end.node, conflict.birth.node
    function = node.function
    stores = [one for one in function.stores if one.is_attribute]
    holders = {key(one.base) for one in stores if one.value is move}
    here = (one.statement for one in stores if node in choices(one.value) and key(one.base) in holders)
    match next(here, None):
        case ast.Assign(value=ast.Name(id=name) as written) as statement if statement in function.before:
            point = Point(function.before[statement], function.guards.get(statement, node.guard), node)
            for suffix in suffixes(analysis, conflict, point):
                if suffix.test is None:
                    edit = ReplaceExpression(source.span(written), f"__node__{suffix.text}")
                    yield Cut((edit, *suffix.edits), suffix.title(name, assigned(move.statement)))


def beside_sibling(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """Behind the statement that moves the other one, under the same condition."""
    move, node = conflict.end.node, conflict.birth.node
    if conflict.end.place.where is not Where.DEVICE or move.function is not node.function or move.statement is None:
        return
    simple = isinstance(move.statement, ast.Assign | ast.Expr) and move.syntax is not None
    first = simple and comes_first(analysis, node, move)
    point = None if not simple else before(move) if first else after(move)
    if point is None or not _rebinds(move.statement):
        return
    if not analysis.births.is_move(move) and not move.guard <= node.guard:
        return  # something is made there on a device, in one branch of several
    name = called(analysis, node, point)
    if (
        name is None
        or (name.isidentifier() and _is_kept_between(node, move))
        or _used_between(node, move)
        or _is_used_otherwise(analysis, node, move)
        or _taken_apart_between(analysis, node, move)
    ):
        return
    if not first and not _is_read_behind(node, move):
        return
    for suffix in suffixes(analysis, conflict, point):
        span = source.span(move.statement)
        code = suffix.statement(name, may_be_none(node, move.guard))
        edit = InsertStatement(span, "before" if first else "after", code, rank(node))
        yield Cut((edit, *suffix.edits), suffix.title(name, assigned(move.statement)))
        return


def _rebinds(statement: ast.stmt) -> bool:
    """`x = x.to(device)`, `self.x = self.x.to(device)`, as against a call that gets a moved value."""
    match statement:
        case ast.Assign(targets=[ast.Name() | ast.Tuple() | ast.Attribute()]):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute())):
            return True
    return False


def _is_kept_between(node: Node, move: Node) -> bool:
    """Whether something keeps the value before the sibling is moved: a new value of its name changes nothing there."""
    last = move.statement.lineno if move.statement is not None else 0
    stores = (one.statement for one in node.function.stores if one.value is node)
    return any(one is not None and one.lineno < last for one in stores)


def _used_between(node: Node, move: Node) -> bool:
    """Whether the value is used before the sibling is moved, where it would still be on the host."""
    shown = _shown(node)
    return any(
        (not shown.isdisjoint(one.args) or (one.op is Op.CALL and not shown.isdisjoint(one.args[0].args)))
        and not contradictory(one.guard, move.guard)
        and (node.index < one.index < move.index or one.statement is move.statement)
        and one.op in {Op.CALL, Op.OPERATION}
        and not (one.op is Op.CALL and (name_of(one.args[0]) or "").startswith("builtins."))  # `print(x)`
        for one in node.function.nodes
    )


def _is_used_otherwise(analysis: Analysis, node: Node, move: Node) -> bool:
    """Whether something gets the value on a path on which the sibling is not moved, though that asks for no device:
    `if old is None: labels = new`, and otherwise `labels = torch.cat([new, old.cuda()])`."""
    if is_of_accelerator(move, node, analysis.graph.host_only):
        return False
    users = analysis.module.users.get(node, ())
    chosen = ((arm, guard) for one in users if one.op is Op.PHI for arm, guard in zip(one.args, one.extras))
    guards = [guard for arm, guard in chosen if arm is node]
    guards += [one.guard for one in users if one.op in _COMPUTING and not shows(one)]
    return any(contradictory(guard, move.guard) for guard in guards)


_COMPUTING = frozenset({Op.CALL, Op.OPERATION})


def _is_read_behind(node: Node, move: Node) -> bool:
    """Whether anything gets a value behind the move of another one, or in the next turn of a loop around that."""
    function = node.function
    around = [one for one in ast.walk(function.syntax) if isinstance(one, _LOOPS)]
    inside = (one for one in ast.walk(function.syntax) if isinstance(one, _FUNCTIONS) and one is not function.syntax)
    if any(each is move.statement for loop in around for each in ast.walk(loop)) or any(inside):
        return True  # functions inside may read it whenever they run
    left = [value for value, _ in function.returns] + [one.value for one in function.stores]
    return node in left or any(one.index > move.index and node in one.args for one in function.nodes)


_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _taken_apart_between(analysis: Analysis, node: Node, move: Node) -> bool:
    """Whether a part of a graph gets a name before the sibling is moved: `x = data.x`, which would stay on the host."""
    if node not in analysis.kinds.data_graphs:
        return False
    callees = analysis.births.callees
    return any(
        one.op in {Op.ATTR, Op.ITEM}
        and one.args[0] is node
        and one not in callees
        and node.index < one.index < move.index
        and analysis.kinds.of(one) is not Kind.NUMBER
        for one in node.function.nodes
    )


def _shown(node: Node) -> set[Node]:
    """A value, its parts, and what it is compared with: `y`, `y[:, None]`, `y == 0`."""
    found = {node}
    for one in node.function.nodes:
        if (one.op is Op.COMPARE or (one.op is Op.ITEM and one.args[0] in found)) and not found.isdisjoint(one.args):
            found.add(one)
    return found


def behind_birth(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
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
        span = source.span(anchor)
        code = suffix.statement(name, point is not None and may_be_none(node, point.guard))
        edit = InsertStatement(span, "before" if where == "before" else "after", code, rank(node))
        yield Cut((edit, *suffix.edits), suffix.title(name))


def rank(node: Node) -> tuple[int, ...]:
    """Moves of what one statement unpacks, or one function is given, stand in its order."""
    return (node.syntax.lineno, node.syntax.col_offset) if isinstance(node.syntax, ast.expr | ast.arg) else ()


def _inside(node: Node, statement: ast.stmt) -> Point | None:
    environment = node.function.before.get(statement)
    return (
        Point(environment, node.function.guards.get(statement, node.guard), node) if environment is not None else None
    )


def _target(node: Node) -> str | None:
    """The name that a loop or an assignment gives a value."""
    if not isinstance(node.syntax, ast.Name) or is_of_comprehension(node):
        return None
    return node.syntax.id if node.syntax.id.strip("_") else None


def is_of_comprehension(node: Node) -> bool:
    """Whether a comprehension gives a value its name, which no statement can bind anew."""
    parts = ast.walk(node.statement) if node.statement is not None else ()
    targets = (one.target for one in parts if isinstance(one, ast.comprehension))
    return any(one is node.syntax for target in targets for one in ast.walk(target))
