"""Factories whose tensor goes with others that stay on the host: moved alone, it would part from them."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._host_helpers import gives_host, keeps_host
from devfix_codemods.rules._host_on_purpose import is_index, is_random, is_scalar
from devfix_codemods.rules._moving_helpers import MOVES, moves
from devfix_codemods.rules._sure_whereabouts import SureWhereabouts
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._tensor_words import HOST_MAKERS
from devfix_codemods.rules._whereabouts import Made

_TESTS = (ast.If, ast.While, ast.Assert)


def parted(program: Program, calls: set[ast.Call]) -> set[ast.Call]:
    """Those of `calls` that cannot be moved together with all the tensors of the host that theirs meet."""
    left = set(calls)
    while gone := {one for one in left if _meets_host(program, one, left)}:
        left -= gone
    return calls - left


def others_left(program: Program, call: ast.Call, hinted: set[ast.Call]) -> bool:
    """Whether the function makes further tensors on the host: then this one was not forgotten beside its neighbours."""
    function, own = scope.function_around(program, call), program.names.statement(call)
    return any(
        scope.function_around(program, one) is function and program.names.statement(one) is not own
        for one in program.names.calls
        if one not in hinted and not is_random(one) and _is_left(program, one, set())
    )


def joined_before(program: Program, meeting: Meeting) -> bool:
    """Whether a factory stands in `torch.cat([torch.zeros(1), x])` with what may be on a device: that fails earlier."""
    where = SureWhereabouts(program)
    for call in meeting.misplaced.value.sources:
        parts = program.names.parent(call)
        join = program.names.parent(parts) if isinstance(parts, ast.List | ast.Tuple) else None
        if not isinstance(parts, ast.List | ast.Tuple) or not isinstance(join, ast.Call) or join is meeting.node:
            continue
        name = tables.canonical(program.names.qualified(join.func) or "")
        others = [one for one in parts.elts if one is not call]
        if name in tables.SEQUENCE_FUNCTIONS and any(where.source(one) is not Made.HOST for one in others):
            return True
    return False


def makes_another_on_host(program: Program, node: ast.expr, moved: set[ast.Call]) -> bool:
    """Whether what `node` gives stands in a statement that makes another tensor on the host, beside it."""
    statement = program.names.statement(node)
    around = {node, *program.names.ancestors(node)}
    return isinstance(statement, scope.SIMPLE) and any(
        call not in around and _is_left(program, call, moved) for call in _calls(statement)
    )


def adds_to_host(program: Program, node: ast.AST, moved: set[ast.Call]) -> bool:
    """Whether arithmetic takes what `node` gives together with what a factory other than `moved` made."""
    function, own = scope.function_around(program, node), program.names.statement(node)
    names = set[str]()
    outer = program.names.parent(node)
    while isinstance(outer, ast.BinOp | ast.UnaryOp):
        operands = (each for each in ast.iter_child_nodes(outer) if isinstance(each, ast.expr))
        names |= {one.id for each in operands if isinstance(one := scope.indexed(each), ast.Name)}
        outer = program.names.parent(outer)
    for name in names if function is not None else ():
        last = scope.given_last(function or own, name, own.lineno)
        if isinstance(last, ast.Call) and last.args and _is_left(program, last, moved):
            return True
    return False


def _meets_host(program: Program, call: ast.Call, moved: set[ast.Call]) -> bool:
    function, own = scope.function_around(program, call), program.names.statement(call)
    if function is None:
        return False
    names = set(scope.stored(own)) if isinstance(own, (ast.Assign, ast.AnnAssign)) else set()
    seen: set[ast.stmt] = set()
    pending = [own]
    while pending:
        statement = pending.pop()
        if isinstance(statement, _TESTS) and _has_host(program, function, statement.test, names, moved):
            return True
        if statement in seen or not isinstance(statement, scope.SIMPLE) or statement.value is None:
            continue
        seen.add(statement)
        if _has_host(program, function, statement, names, moved) or _moves_on(program, statement, names):
            return True
        if statement is not own and isinstance(statement, ast.Assign) and _stays_of_torch(program, statement):
            names |= set(scope.stored(statement))
        names |= _collected(statement)
        pending += [program.names.statement(one) for one in scope.loads(function, names)]
        pending += _added_to(function, names)
    return False


def _added_to(function: scope.Function, names: set[str]) -> list[ast.AugAssign]:
    """`x += y`, which reads `x` too."""
    sums = (one for one in walk(function) if isinstance(one, ast.AugAssign))
    return [one for one in sums if isinstance(one.target, ast.Name) and one.target.id in names]


def _moves_on(program: Program, statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement moves what came of the factory: that it is on the host until then harms nothing."""
    for one in ast.walk(statement):
        if isinstance(one, ast.Attribute) and one.attr in MOVES and moves(program, one):
            moved: ast.expr | None = one.value
        else:
            moved = _copied(program, one)
        if moved is not None and not names.isdisjoint(scope.reads(moved)):
            return True
    return False


def _copied(program: Program, node: ast.AST) -> ast.expr | None:
    """`x` in `torch.as_tensor(x, device=…)`."""
    if not isinstance(node, ast.Call) or not node.args or program.names.qualified(node.func) not in _COPIES:
        return None
    return node.args[0] if any(one.arg == "device" for one in node.keywords) else None


_COPIES = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray"})


def _collected(statement: ast.stmt) -> set[str]:
    """The list that gets the value: `parts.append(x)`."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"))):
            return {name}
    return set()


def _has_host(
    program: Program, function: scope.Function, statement: ast.stmt | ast.expr, names: set[str], moved: set[ast.Call]
) -> bool:
    """Whether a statement, or the test of one, works on a tensor of the host, other than those under `names`."""
    for call in _calls(statement):
        copied = (
            moves_to_host(call)
            and names.isdisjoint(scope.reads(call))
            and not any(map(moved.__contains__, _calls(call)))
        )
        if copied or _is_left(program, call, moved) or _is_left_by_helper(program, call, moved):
            return True
    if any(_is_kept_by_helper(program, one, moved) for one in ast.walk(statement)):
        return True
    read = (one for one in ast.walk(statement) if isinstance(one, ast.Name) and not is_index(program, one))
    met = {one.id for one in read if not _is_taken_away(program, one)}
    copied_into = _copied_into(statement) if _is_computed_of(statement, names) else set()
    return any(_is_host(program, function, one, statement.lineno, moved) for one in met - names - copied_into)


def _is_computed_of(statement: ast.AST, names: set[str]) -> bool:
    """Whether an assignment takes what a call gives that gets `names`, and not a part of them."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Call) and any(not names.isdisjoint(scope.reads(one)) for one in value.args)


def _copied_into(statement: ast.AST) -> set[str]:
    """`xs` of `xs[a:b] = …`: what is written to a part of a tensor is copied to wherever that is."""
    if not isinstance(statement, ast.Assign):
        return set()
    parts = [one for one in statement.targets if isinstance(one, ast.Subscript) and _is_part(one.slice)]
    return {one.value.id for one in parts if isinstance(one.value, ast.Name)} - set(scope.reads(statement.value))


def _is_part(index: ast.expr) -> bool:
    indices = index.elts if isinstance(index, ast.Tuple) else [index]
    return all(isinstance(one, (ast.Slice, ast.Constant)) for one in indices)


def _stays_of_torch(program: Program, statement: ast.Assign) -> bool:
    """Whether functions and methods of torch alone give the value, and none moves it."""
    for one in ast.walk(statement.value):
        if isinstance(one, ast.Attribute) and one.attr in {*MOVES, "cpu", "numpy", "item", "tolist"}:
            return False
        if isinstance(one, ast.Call) and not _is_of_torch(program, one.func):
            return False
    return True


_SHAPES = frozenset({"unsqueeze", "squeeze", "view", "reshape", "flatten", "expand", "repeat", "permute", "transpose"})


def _is_of_torch(program: Program, function: ast.expr) -> bool:
    name = program.names.qualified(function)
    if name is not None:
        return name.startswith("torch.")
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr in _SHAPES or not (dotted(function) or "").startswith("self.")


def _calls(statement: ast.AST) -> Iterator[ast.Call]:
    return (one for one in ast.walk(statement) if isinstance(one, ast.Call))


def _is_left(program: Program, call: ast.Call, moved: set[ast.Call]) -> bool:
    """Whether a call makes a tensor on the host, and nothing takes it from there."""
    if tables.canonical(program.names.qualified(call.func) or "") not in HOST_MAKERS or call in moved:
        return False
    if any(one.arg in {"device", "out", None} for one in call.keywords) or is_scalar(call) or is_index(program, call):
        return False
    return not _is_taken_away(program, call)


def _is_left_by_helper(program: Program, call: ast.Call, moved: set[ast.Call]) -> bool:
    """Whether a function of the project makes it there for a call."""
    return not is_index(program, call) and not _is_taken_away(program, call) and gives_host(program, call, moved)


def _is_kept_by_helper(program: Program, node: ast.AST, moved: set[ast.Call]) -> bool:
    """Whether `self.name` is what one made; not `self.name.size`, which may be a number."""
    if not isinstance(node, ast.Attribute) or _is_taken_away(program, node):
        return False
    outer = program.names.parent(node)
    called = isinstance(program.names.parent(outer), ast.Call) if isinstance(outer, ast.Attribute) else True
    return called and keeps_host(program, node, moved)


def _is_taken_away(program: Program, call: ast.expr) -> bool:
    """Whether what an expression gives is moved in the same statement."""
    chain = (one for one in program.names.ancestors(call) if isinstance(one, ast.Attribute))
    return any(one.attr in MOVES and moves(program, one) for one in chain)


def _is_host(program: Program, function: scope.Function, name: str, line: int, moved: set[ast.Call]) -> bool:
    """Whether a local name holds, on some path, what was made or brought to the host, and no move takes it back."""
    values = [value for one in walk(function) if (value := _given(one, name)) is not None]
    brought = [one.lineno for one in values if moves_to_host(one) and one.lineno < line]
    values = [one for one in values if one.lineno >= max(brought, default=0)]
    nodes = [one for value in values for one in walk(value)]
    before = (one for one in nodes if isinstance(one, ast.expr) and one.lineno < line)
    if any(isinstance(one, ast.Attribute) and one.attr in MOVES and _to_device(program, one) for one in before):
        return False
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    if any(moves_to_host(one) or _is_left(program, one, moved) for one in calls):
        return True
    return not _is_moved_in_place(function, name) and any(_is_left_by_helper(program, one, moved) for one in calls)


def _is_moved_in_place(function: scope.Function, name: str) -> bool:
    """`cache.to(x.device)`, of an object that moves what it holds."""
    return any(
        isinstance(one, ast.Attribute) and one.attr in MOVES and dotted(one.value) == name for one in walk(function)
    )


def _given(node: ast.AST, name: str) -> ast.expr | None:
    """What an assignment gives to a plain name."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return None
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return node.value if any(isinstance(one, ast.Name) and one.id == name for one in targets) else None


def _to_device(program: Program, move: ast.Attribute) -> bool:
    call = program.names.parent(move)
    return moves(program, move) and not (isinstance(call, ast.Call) and moves_to_host(call))
