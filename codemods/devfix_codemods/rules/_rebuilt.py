"""Tensors made anew: since a test found the old one on another device, `if mask.device != x.device: mask = …`, or in
each round of a loop that begins with one of a device."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._optional import surely_run_before

_MOVES = frozenset({"to", "cuda", "cpu", "type_as"})


def wanted_device(program: Program, call: ast.Call) -> str | None:
    """The device on which the tests around `call` want what it makes, if nothing moves that."""
    statement = program.names.statement(call)
    target = _target(statement)
    if target is None:
        return None
    inner: ast.AST = statement
    for outer in program.names.ancestors(statement):
        if isinstance(outer, scope.Function):
            return None
        if isinstance(outer, ast.If) and any(one is inner for one in outer.body):
            found = next(_others(outer.test, f"{target}.device", negated=False), None)
            if found is not None:
                return None if _is_moved(program, statement, target) else found
        inner = outer
    return None


def device_of_first(program: Program, call: ast.Call) -> str | None:
    """The device on which the tensor was that a loop begins with, where `call` makes the ones of its further rounds."""
    statement = program.names.statement(call)
    name = _target(statement)
    loop = next((one for one in program.names.ancestors(statement) if isinstance(one, _LOOPS + _FUNCTIONS)), None)
    if name is None or "." in name or not isinstance(loop, _LOOPS) or getattr(statement, "value", None) is not call:
        return None
    before = [one for one in surely_run_before(program, loop) if name in scope.stored(one)]
    first = before[-1].value if before and isinstance(before[-1], ast.Assign) else None
    device = _made_on(program, first) if isinstance(first, ast.Call) else None
    if device is None or device.partition(".")[0] not in scope.bound_at(program, statement):
        return None
    reads = list(scope.loads(loop, {name}))
    seen = any(one.lineno < statement.lineno and _is_given(program, one) for one in reads)
    stays = any(isinstance(program.names.parent(one), (ast.Attribute, ast.For)) for one in reads)
    return device if seen and not stays else None


_LOOPS = (ast.For, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def _made_on(program: Program, first: ast.Call) -> str | None:
    """`torch.zeros(3, device=device)`, `torch.zeros(3).to(device)`."""
    moved = isinstance(first.func, ast.Attribute) and first.func.attr == "to" and len(first.args) == 1
    made = first.func.value if moved and isinstance(first.func, ast.Attribute) else first
    if not isinstance(made, ast.Call) or not _is_factory(program, made):
        return None
    device = first.args[0] if moved else next((one.value for one in made.keywords if one.arg == "device"), None)
    text = dotted(device) if device is not None else None
    return text if text is not None and text.rpartition(".")[2].endswith("device") else None


def _is_factory(program: Program, call: ast.Call) -> bool:
    name = tables.canonical(program.names.qualified(call.func) or "")
    return name in tables.FACTORIES | tables.LEGACY_CONSTRUCTORS


def _is_given(program: Program, node: ast.Name) -> bool:
    """An argument of a method: `model.act(x)`."""
    call = program.names.parent(node)
    call = program.names.parent(call) if isinstance(call, ast.keyword) else call
    return isinstance(call, ast.Call) and call.func is not node and isinstance(call.func, ast.Attribute)


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        return dotted(statement.targets[0])
    return dotted(statement.target) if isinstance(statement, ast.AnnAssign) else None


def _others(test: ast.expr, device: str, *, negated: bool) -> Iterator[str]:
    """What `device` is not, where `test` holds, or is one of several reasons for it to hold."""
    match test:
        case ast.BoolOp(values=values):
            for one in values:
                yield from _others(one, device, negated=negated)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _others(operand, device, negated=not negated)
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as sign], comparators=[right]):
            if isinstance(sign, ast.Eq) is negated:
                sides = [dotted(left), dotted(right)]
                other = next((one for one in sides if one != device), None)
                if device in sides and other is not None and other.rpartition(".")[2] == "device":
                    yield other


def _is_moved(program: Program, statement: ast.stmt, target: str) -> bool:
    """Whether the statement itself moves what it makes, or a later one moves what is in `target`."""
    function = scope.function_around(program, statement)
    for one in ast.walk(function) if function is not None else ():
        if not isinstance(one, ast.Attribute) or one.attr not in _MOVES:
            continue
        here = program.names.statement(one)
        if here is statement or (here.lineno > statement.lineno and dotted(one.value) == target):
            return True
    return False
