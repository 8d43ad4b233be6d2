"""`.numpy()` of tensors: which arrays are written to, and which stand in one statement."""

import ast
import re
from collections.abc import Iterator, Set

from devfix_codemods import scope
from devfix_codemods.flow.evidence import last_name
from devfix_codemods.program import Program
from devfix_codemods.rules._following import root_name
from devfix_codemods.rules._taken_to_host import sets_dtype


def converted(node: ast.AST) -> ast.expr | None:
    """`x` of `x.numpy()`."""
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="numpy"), args=[], keywords=[]):
            return tensor
    return None


def is_written_to(program: Program, call: ast.Call) -> bool:
    """`x.numpy()[0] = 1`, `np.copyto(x.numpy(), y)`: the array is the tensor's own memory, which a copy is not."""
    parent = program.names.parent(call)
    match parent:
        case ast.Subscript(ctx=ast.Store()):
            return True
        case ast.Attribute(attr=method):
            return method in _IN_PLACE and isinstance(program.names.parent(parent), ast.Call)
        case ast.Call(args=[first, *_]) if first is call and program.names.qualified(parent.func) in _WRITES_FIRST:
            return True
        case ast.Call():
            return _is_filled(program, call, parent)
        case ast.keyword(arg="out"):
            return True
        case ast.keyword():
            outer = program.names.parent(parent)
            return isinstance(outer, ast.Call) and _is_filled(program, call, outer)
    return False


_IN_PLACE = frozenset({"fill", "sort", "partition", "put", "itemset", "setfield"})
_WRITES_FIRST = frozenset({"numpy.copyto", "numpy.put", "numpy.place", "numpy.putmask", "numpy.fill_diagonal"})


def _is_filled(program: Program, call: ast.Call, outer: ast.Call) -> bool:
    """`kernel(x.numpy(), out.numpy())`, where `out` was made anew for this and is read afterwards."""
    tensor, function = converted(call), scope.function_around(program, call)
    if not isinstance(program.names.parent(outer), ast.Expr):
        return False
    if _SAYS_IN_PLACE.search(last_name(outer.func) or ""):
        return True
    if not isinstance(tensor, ast.Name) or function is None:
        return False
    given = scope.given_last(function, tensor.id, outer.lineno)
    end = outer.end_lineno or outer.lineno
    read = any(one.lineno > end for one in scope.loads(function, {tensor.id}))
    return read and given is not None and _is_made_anew(given)


_SAYS_IN_PLACE = re.compile(r"(?i)in_?place")


def _is_made_anew(node: ast.expr) -> bool:
    """`x.clone()`, `torch.empty_like(x)`, `x.new_zeros(3)`."""
    name = (last_name(node.func) or "") if isinstance(node, ast.Call) else ""
    return name == "clone" or name.startswith("new_") or name.endswith("_like") or name in {"empty", "zeros"}


def is_moved(tensor: ast.expr) -> bool:
    """`x.to(place)`, in the chain: somebody has thought of where numpy finds it."""
    calls = (one for one in scope.chain(tensor) if isinstance(one, ast.Call))
    return any(last_name(one.func) in {"to", "cpu"} and not sets_dtype(one) for one in calls)


def conversions_beside(program: Program, tensors: set[ast.expr]) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The conversions in the statements of `tensors`, each with what it converts.

    So are those of the same tensors, of what is computed of them, and of what is detached for it, in statements that
    always run with these.
    """
    beside: dict[ast.stmt, set[str]] = {}
    for one in tensors:
        for each in scope.block_of(program, program.names.statement(one)):
            beside.setdefault(each, set()).update(_roots(one))
    statements = {program.names.statement(one) for one in tensors}
    for call in program.names.calls if statements else ():
        tensor, statement = converted(call), program.names.statement(call)
        if tensor is None:
            continue
        always = isinstance(statement, scope.SIMPLE) and scope.is_always_evaluated(program, call)
        names = beside.get(statement) if always else None
        same = names is not None and (_is_detached(tensor) or _is_of(program, tensor, names))
        if statement in statements or same:
            yield call, tensor


def _is_detached(tensor: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and last_name(one.func) == "detach" for one in scope.chain(tensor))


def _is_of(program: Program, tensor: ast.expr, names: Set[str]) -> bool:
    """Whether a tensor is one of those under `names`, or was computed of one in the step before."""
    function = scope.function_around(program, tensor)
    if function is None:
        return False
    for name in _roots(tensor):
        last = scope.given_last(function, name, tensor.lineno)
        if name in names or (last is not None and not names.isdisjoint(scope.reads(last))):
            return True
    return False


def _roots(tensor: ast.expr) -> set[str]:
    """The name in which a chain begins: `x` of `x["y"].detach()`."""
    name = root_name(tensor)
    return {name} if name is not None and name != "self" else set()
