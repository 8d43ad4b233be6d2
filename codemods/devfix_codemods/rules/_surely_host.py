"""Tensors that are on the host wherever the code gets past what it does with them: numpy reads them without a copy."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import UNKNOWN, may_be_device
from devfix_codemods.program import Program
from devfix_codemods.rules._computed_of import tensors_in
from devfix_codemods.rules._following import IN_PLACE
from devfix_codemods.rules._given_to_arrays import is_given_to_arrays, is_read_by_numpy_after
from devfix_codemods.rules._host_functions import is_for_host_at
from devfix_codemods.rules._said_host import is_kept_on_host, is_named_for_host

_COPIES = frozenset({"cpu", "numpy", "tolist", "to", "type_as"})


def is_on_host_in_any_case(program: Program, meeting: Meeting) -> bool:
    """Whether every run that gets past what numpy reads here has all of this on the host."""
    if _is_read_by_numpy(program, meeting) or is_kept_on_host(program, meeting.misplaced.value.sources):
        return True
    function, place = meeting.context.function, meeting.anchor.place
    if function is not None and is_for_host_at(program, function, place):
        return True
    if may_be_device(place):
        return False
    made = meeting.misplaced.value.sources
    if is_named_for_host(program, meeting.anchor.node):
        return True
    if any(is_given_to_arrays(program, one) or is_read_by_numpy_after(program, one, meeting.node) for one in made):
        return True
    return (
        _is_summed_on_host(meeting)
        or _is_read_as_it_is(program, meeting)
        or _is_read_by_numpy_after(program, meeting)
        or _is_made_by_numpy(program, meeting)
        or _is_of_the_same(meeting)
    )


def _is_read_by_numpy(program: Program, meeting: Meeting) -> bool:
    """`(x * torch.ones(3)).numpy()`."""
    method = program.names.parent(meeting.node)
    if isinstance(method, ast.Attribute) and method.attr == "detach":
        method = program.names.parent(program.names.parent(method) or method)
    return isinstance(method, ast.Attribute) and method.attr == "numpy"


def _is_summed_on_host(meeting: Meeting) -> bool:
    """`total += y`, where nothing is known of `y`, and the function brings results to the host."""
    function = meeting.context.function
    if function is None or meeting.operation != IN_PLACE or meeting.anchor.place != UNKNOWN:
        return False
    return any(isinstance(one, ast.Attribute) and one.attr in {"cpu", "numpy"} for one in ast.walk(function))


def _is_read_as_it_is(program: Program, meeting: Meeting) -> bool:
    """`y.numpy()` beside `y - x`, in a plain statement that every run gets to with the same `y`."""
    function, anchor = scope.function_around(program, meeting.node), meeting.anchor.node
    if function is None or not isinstance(anchor, ast.Name):
        return False
    given = [one.lineno for one in scope.stores(function, anchor.id)]
    statement = program.names.statement(meeting.node)
    beside = [one for one in scope.block_of(program, statement) if isinstance(one, _PLAIN)]
    return any(
        all(line < min(one.lineno, statement.lineno) for line in given)
        and any(_reads_name(node, anchor.id) for node in ast.walk(one))
        for one in beside
        if not any(isinstance(each, (ast.IfExp, ast.Lambda)) for each in ast.walk(one))
    )


_PLAIN = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)


def _reads_name(node: ast.AST, name: str) -> bool:
    """`x.numpy()`, `x.detach().numpy()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Attribute(value=value, attr="detach")), attr="numpy")):
            return dotted(value) == name
        case ast.Call(func=ast.Attribute(value=value, attr="numpy")):
            return dotted(value) == name
    return False


def _is_read_by_numpy_after(program: Program, meeting: Meeting) -> bool:
    """`y = x * torch.ones(3)`, then `f(y).numpy()` in the same block, with no copy between."""
    statement = program.names.statement(meeting.node)
    names = scope.stored(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
    block = scope.block_of(program, statement)
    for one in block[block.index(statement) + 1 :] if names else ():
        if not isinstance(one, (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)):
            return False
        if any(_reads(node, names) for node in ast.walk(one)):
            return True
        if not names.isdisjoint(scope.stored(one)):
            return False
    return False


def _reads(node: ast.AST, names: set[str]) -> bool:
    """`f(x).numpy()`."""
    method = node.func if isinstance(node, ast.Call) and not node.args and not node.keywords else None
    if not isinstance(method, ast.Attribute) or method.attr != "numpy" or not isinstance(method.value, ast.Call):
        return False
    inside = list(ast.walk(method.value))
    copied = any(isinstance(one, ast.Attribute) and one.attr in _COPIES for one in inside)
    return not copied and any(isinstance(one, ast.Name) and one.id in names for one in inside)


def _is_made_by_numpy(program: Program, meeting: Meeting) -> bool:
    """`rows = torch.from_numpy(neighbors(x))`, where `x` went as it is to what works with arrays, and meets `rows`."""
    function, anchor = scope.function_around(program, meeting.node), meeting.anchor.node
    calls = meeting.misplaced.value.sources
    if function is None or not isinstance(anchor, ast.Name) or not calls:
        return False
    if any(program.names.qualified(one.func) not in tables.HOST_FACTORIES for one in calls):
        return False
    return all(_comes_from(function, call, anchor.id) for call in calls)


def _is_of_the_same(meeting: Meeting) -> bool:
    """`r > x`, where all that `r` is computed of went into `x` as well."""
    function, anchor, misplaced = meeting.context.function, meeting.anchor.node, meeting.misplaced.node
    if function is None or meeting.anchor.place != UNKNOWN or not isinstance(anchor, ast.Name) or _makes(misplaced):
        return False
    line = meeting.node.lineno
    second = roots(function, {anchor.id}, line)
    return bool(second) and second <= roots(function, tensors_in(misplaced), line)


def roots(function: scope.Function, names: set[str], line: int) -> set[str]:
    """What is given, or made by factories, and the functions of others, of which `names` are computed step by step."""
    found, pending, seen = set[str](), set(names), set[str]()
    while pending:
        name = pending.pop()
        seen.add(name)
        values = [
            one.value
            for one in ast.walk(function)
            if isinstance(one, ast.Assign) and one.lineno < line and name in scope.stored(one)
        ]
        if not values or any(map(_makes, values)):
            found.add(name)
        else:
            pending |= {each for one in values for each in tensors_in(one)} - seen
    return found


def _makes(value: ast.expr) -> bool:
    """Whether a factory of torch stands in an expression."""
    names = (tables.canonical(dotted(one.func) or "") for one in ast.walk(value) if isinstance(one, ast.Call))
    return any(one in tables.FACTORIES for one in names)


def _comes_from(function: scope.Function, call: ast.Call, name: str) -> bool:
    """Whether the array of `call` is computed of `name`, by calls alone, and nothing on the way copies to the host."""
    pending, seen = list(call.args), set[str]()
    found = False
    while pending:
        value = pending.pop()
        if any(isinstance(one, ast.Attribute) and one.attr in _COPIES for one in ast.walk(value)):
            return False
        found = found or any(name in _given(one) for one in ast.walk(value) if isinstance(one, ast.Call))
        names = set(scope.reads(value)) - seen - {name}
        seen |= names
        pending += _values(function, names, call)
    return found


def _given(call: ast.Call) -> set[str | None]:
    return {dotted(one) for one in scope.given_to(call)}


def _values(function: scope.Function, names: set[str], call: ast.Call) -> Iterator[ast.expr]:
    """What is assigned to `names` above `call`."""
    for one in ast.walk(function):
        if isinstance(one, ast.Assign) and one.lineno < call.lineno and not names.isdisjoint(scope.stored(one)):
            yield one.value
