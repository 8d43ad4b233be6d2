"""Factories of which, or of what is computed of them, the host reads numbers: on a device it would wait for each."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import statements, walk
from devfix_codemods.program import Program


def is_plain_number(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """`torch.tensor(mu)` where `mu` is computed of numbers alone: a 0-dim tensor, which may stay on the host."""
    name = call.args[0] if call.args else None
    if (dotted(call.func) or "").rpartition(".")[2] != "tensor" or not isinstance(name, ast.Name):
        return False
    values = [value for value in _given(program, function, name.id) if call not in ast.walk(value)]
    values += [name] if name.id in scope.parameters(function) else []
    return bool(values) and all(_is_number(program, function, one) for one in values)


def is_of_dataset(call: ast.Call) -> bool:
    """`torch.zeros(len(loader.dataset), 3)`: rows for a whole dataset, which a device may have no memory for."""
    return any(isinstance(one, ast.Attribute) and one.attr == "dataset" for part in call.args for one in ast.walk(part))


def is_only_model(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """Whether the value is only used to make others, on devices of their own: `x.new_empty(3, device=d)`."""
    uses = list(scope.loads(function, _targets(program.names.statement(call))))
    return bool(uses) and all(_makes_elsewhere(program, one) for one in uses)


def _makes_elsewhere(program: Program, node: ast.Name) -> bool:
    method = program.names.parent(node)
    made = (
        program.names.parent(method) if isinstance(method, ast.Attribute) and method.attr.startswith("new_") else None
    )
    return isinstance(made, ast.Call) and any(one.arg == "device" for one in made.keywords)


def is_read_later(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """Whether what is computed of the value is read by numpy, or what is computed of it alone as a list or a bound."""
    first = _targets(program.names.statement(call))
    return any(_is_read(program, one, _BY_NUMPY) for one in _followed(program, function, first, alone=False)) or any(
        _is_read(program, one, _AS_LIST) or _is_bound(program, one)
        for one in _followed(program, function, first, alone=True)
    )


_BY_NUMPY = frozenset({"numpy"})
_AS_LIST = frozenset({"numpy", "tolist"})


def _followed(program: Program, function: scope.Function, first: set[str], *, alone: bool) -> Iterator[ast.Name]:
    """The reads of `first`, and of the names that get what is computed of those.

    `alone` leaves out what is computed with others, but for what other factories made on the host.
    """
    local = set(scope.parameters(function)) | scope.stored(function)
    local.discard("self")
    names, pending = set(first), set(first)
    company = _computed_of(function, first | _made_on_host(program, function), local) if alone else local
    while pending:
        found: set[str] = set()
        for one in scope.loads(function, pending):
            yield one
            statement = program.names.statement(one)
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            if value is not None and _tensors(value) & local <= company:
                found |= _targets(statement)
        pending = found - names
        names |= pending


def _made_on_host(program: Program, function: scope.Function) -> set[str]:
    """Names that get what factories make without a device."""
    return {
        name
        for one in statements(function)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        if tables.canonical(program.names.qualified(one.value.func) or "") in tables.FACTORIES
        if all(each.arg != "device" for each in one.value.keywords)
        for name in _targets(one)
    }


def _computed_of(function: scope.Function, first: set[str], local: set[str]) -> set[str]:
    """`first`, and the names that get what is computed of those and of no other local name."""
    found = set(first)
    assigned = [
        (_tensors(one.value) & local, _targets(one)) for one in statements(function) if isinstance(one, ast.Assign)
    ]
    while True:
        more = {name for read, targets in assigned if read <= found for name in targets} - found
        if not more:
            return found
        found |= more


def _tensors(value: ast.expr) -> set[str]:
    """The names that a value is computed of, but for indices and what functions are called of."""
    inside = list(walk(value))
    indices = {
        one
        for each in inside
        if isinstance(each, ast.Subscript)
        for one in walk(each.slice)
        if isinstance(one, ast.Name)
    }
    return {one.id for one in inside if isinstance(one, ast.Name) and one not in indices}


def _targets(statement: ast.stmt) -> set[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    return {one.id for one in targets if isinstance(one, ast.Name)}


def _is_read(program: Program, node: ast.Name, methods: frozenset[str]) -> bool:
    """`x.tolist()`, also behind an index."""
    inner: ast.AST = node
    outer = program.names.parent(node)
    while isinstance(outer, ast.Subscript) and outer.value is inner:
        inner, outer = outer, program.names.parent(outer)
    return isinstance(outer, ast.Attribute) and outer.attr in methods


def _is_bound(program: Program, node: ast.Name) -> bool:
    """`x[start:stop]`."""
    return isinstance(program.names.parent(node), ast.Slice)


def _given(program: Program, function: scope.Function, name: str) -> Iterator[ast.expr]:
    for one in scope.stores(function, name):
        statement = program.names.statement(one)
        yield statement.value if isinstance(statement, ast.Assign) and one in statement.targets else one


def _is_number(
    program: Program, function: scope.Function, value: ast.expr, open_names: frozenset[str] = frozenset()
) -> bool:
    """Arithmetic of numbers: constants, lengths, counters, and parameters that are said to be numbers."""
    match value:
        case ast.Constant(value=constant):
            return isinstance(constant, (int, float))
        case ast.BinOp(op=ast.LShift() | ast.RShift()):
            return True
        case ast.BinOp(left=left, right=right):
            return all(_is_number(program, function, one, open_names) for one in (left, right))
        case ast.UnaryOp(operand=operand):
            return _is_number(program, function, operand, open_names)
        case ast.Call(func=ast.Name(id="len" | "int" | "float")):
            return True
        case ast.Name(ctx=ast.Store()):
            loop = program.names.parent(value)
            return isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and dotted(loop.iter.func) == "range"
        case ast.Name(id=name):
            said = scope.annotation(function, name)
            if said is not None:
                return isinstance(said, ast.Name) and said.id in {"int", "float", "bool"}
            given = [] if name in open_names else list(_given(program, function, name))
            return bool(given) and all(_is_number(program, function, one, open_names | {name}) for one in given)
    return False
