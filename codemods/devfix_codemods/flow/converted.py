"""What is converted to a tensor: whether that gives one with dimensions, by how it is written."""

import ast
from collections.abc import Iterator

from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tree import declared, walk

_ROWS = frozenset(
    f"numpy.{name}"
    for name in (
        *("linspace", "arange", "logspace", "geomspace", "eye", "concatenate", "stack", "vstack", "hstack", "append"),
        *("cumsum", "cumprod", "diff", "hanning", "hamming", "blackman", "bartlett", "kaiser", "loadtxt", "genfromtxt"),
    )
)
"""Functions of numpy that give nothing without dimensions."""

_SIZED = frozenset(f"numpy.{name}" for name in ("zeros", "ones", "empty", "full", "random.rand", "random.randn"))
_KEEPING = frozenset({"astype", "copy", "clip", "reshape", "transpose", "cumsum", "cumprod"})
_COUNTED = frozenset({"numpy.array", "numpy.asarray", "list", "tuple", "sorted"})
_TENSORS = frozenset({"Tensor", "FloatTensor", "LongTensor", "BoolTensor"})
_CONTAINERS = frozenset({"List", "list", "Sequence", "Tuple", "tuple", "Iterable", "ndarray", "NDArray"})
DEEPEST = 4
"""Names that are looked through, one behind the other."""


def has_dimensions(names: Names, node: ast.expr, depth: int = 0) -> bool:
    """`[1, 2]`, `[f(x) for x in xs]`, `[0] * n`, `np.quantile(x, q)[1:]`, `np.linspace(0, 1, n)`, and names of such."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return bool(parts)
        case ast.ListComp():
            return True
        case ast.BinOp(left=left, right=right):
            return has_dimensions(names, left, depth) or has_dimensions(names, right, depth)
        case ast.Subscript(value=ast.Call(func=function), slice=ast.Slice()) if _is_of_numpy(names, function):
            return True
        case ast.UnaryOp(operand=inner) | ast.Subscript(value=inner, slice=ast.Slice()):
            return has_dimensions(names, inner, depth)
        case ast.Call():
            return _of_call(names, node, depth)
        case ast.Name() if depth < DEEPEST:
            return _of_name(names, node, depth + 1)
    return False


def _is_of_numpy(names: Names, function: ast.expr) -> bool:
    return (names.qualified(function) or "").startswith("numpy.")


def _of_call(names: Names, node: ast.Call, depth: int) -> bool:
    name = names.qualified(node.func) or ""
    if name in _ROWS:
        return True
    if name in _SIZED:
        return bool(node.args) and not (isinstance(node.args[0], ast.Tuple) and not node.args[0].elts)
    if isinstance(node.func, ast.Name) and node.func.id in _COUNTED:
        name = node.func.id
    if name in _COUNTED:
        return bool(node.args) and has_dimensions(names, node.args[0], depth)
    kept = isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING
    return kept and isinstance(node.func, ast.Attribute) and has_dimensions(names, node.func.value, depth)


def _of_name(names: Names, node: ast.Name, depth: int) -> bool:
    """Of a local name: what every statement above that binds it gives; of a parameter, its default or annotation."""
    around = next((one for one in names.ancestors(node) if isinstance(one, _FUNCTIONS)), None)
    if around is None:
        return False
    given = list(_given(names, around, node))
    parameter = next((one for one in declared(around) if one.arg == node.id), None)
    if parameter is not None:
        return not given and _of_parameter(around, parameter)
    return bool(given) and all(one is not None and has_dimensions(names, one, depth) for one in given)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _given(names: Names, function: ast.AST, node: ast.Name) -> Iterator[ast.expr | None]:
    """What the statements above that bind a name give it; None for others than plain assignments."""
    for one in walk(function):
        if isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Store):
            statement = names.parent(one)
            if one.lineno < node.lineno:
                yield statement.value if isinstance(statement, ast.Assign) else None


def _of_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef, parameter: ast.arg) -> bool:
    default = dict(defaults(function)).get(parameter.arg)
    if isinstance(default, ast.List | ast.Tuple):
        return bool(default.elts)
    return parameter.annotation is not None and _names(parameter.annotation, _CONTAINERS)


def may_be_tensor(names: Names, node: ast.expr) -> bool:
    """Whether a parameter may be a tensor as well, by its annotation."""
    around = next((one for one in names.ancestors(node) if isinstance(one, _FUNCTIONS)), None)
    known = {one.arg: one.annotation for one in declared(around)} if around is not None else {}
    said = known.get(node.id) if isinstance(node, ast.Name) else None
    return said is not None and _names(said, _TENSORS)


def defaults(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """The names of parameters that have a default, with that."""
    spec = function.args
    given = [*spec.posonlyargs, *spec.args]
    yield from ((one.arg, value) for one, value in zip(reversed(given), reversed(spec.defaults)))
    yield from ((one.arg, value) for one, value in zip(spec.kwonlyargs, spec.kw_defaults) if value is not None)


def _names(annotation: ast.expr, wanted: frozenset[str]) -> bool:
    """Whether an annotation, or one side of a union, is one of `wanted`: some caller gives such."""
    match annotation:
        case ast.BinOp(left=left, right=right, op=ast.BitOr()):
            return _names(left, wanted) or _names(right, wanted)
        case ast.Subscript(value=head, slice=inner) if ast.unparse(head).rpartition(".")[2] in {"Union", "Optional"}:
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            return any(_names(one, wanted) for one in parts)
        case ast.Subscript(value=head):
            return _names(head, wanted)
        case ast.Name() | ast.Attribute():
            return ast.unparse(annotation).rpartition(".")[2] in wanted
    return False
