"""Names that may have no device: parameters that are a tensor for one caller and a number, a list or an array for
another, and what the function uses as no tensor."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._asked_types import is_asked
from devfix_codemods.rules._given_arrays import is_given_other
from devfix_codemods.rules._no_tensors import is_no_tensor


def may_have_no_device(program: Program, name: str, node: ast.AST) -> bool:
    """Whether `name`, read at `node`, is a parameter said to be a tensor or a number, which nothing has told apart; or
    used as what no tensor is, or given by a caller as such."""
    if is_no_tensor(program, name, node) or is_asked(program, name, node):
        return True
    function = scope.function_around(program, node)
    if function is None or not (_others(function, name) or is_given_other(program, function, name)):
        return False
    inner = (one for each in function.body for one in ast.walk(each) if isinstance(one, ast.stmt))
    above = [one for one in inner if one.lineno < _line(node)]
    if any(name in set(scope.stored(one)) or _tells_apart(one, name) for one in above):
        return False
    around = program.names.ancestors(node)
    return not any(isinstance(one, ast.If | ast.IfExp) and _asks(one.test, name) for one in around)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


def _others(function: scope.Function, name: str) -> set[str]:
    """The types without a device that the annotation of a parameter allows beside tensors."""
    said = scope.annotation(function, name)
    heads = set(_members(said)) if said is not None else set[str]()
    return heads & _WITHOUT_DEVICE if any("Tensor" in one for one in heads) else set()


_NUMBERS = frozenset({"int", "float", "bool", "complex", "str", "Number", "Scalar"})
_ARRAYS = frozenset({"ndarray", "ArrayLike", "NDArray"})
_SEQUENCES = frozenset({"list", "tuple", "dict", "List", "Tuple", "Dict", "Sequence", "Iterable"})
_WITHOUT_DEVICE = _NUMBERS | _ARRAYS | _SEQUENCES


def _members(annotation: ast.expr) -> Iterator[str]:
    """The last names of the types in `int | torch.Tensor`, `Union[float, List[float], Tensor]`, or a string of it."""
    match annotation:
        case ast.Constant(value=str() as text):
            try:
                yield from _members(ast.parse(text.strip(), mode="eval").body)
            except SyntaxError:
                return
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _members(left)
            yield from _members(right)
        case ast.Subscript(value=value, slice=inner):
            head = ast.unparse(value).rpartition(".")[2]
            if head not in {"Union", "Optional"}:
                yield head
                return
            for one in inner.elts if isinstance(inner, ast.Tuple) else [inner]:
                yield from _members(one)
        case ast.Name() | ast.Attribute():
            yield ast.unparse(annotation).rpartition(".")[2]


def _tells_apart(statement: ast.stmt, name: str) -> bool:
    """`if isinstance(x, torch.Tensor)`, `assert torch.is_tensor(x)`, or a use that only tensors stand: `x.dim()`."""
    if isinstance(statement, ast.If | ast.Assert):
        return _asks(statement.test, name)
    if not isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Expr):
        return False
    uses = [one for one in ast.walk(statement) if isinstance(one, ast.Attribute) and one.attr in _OF_TENSORS]
    return any(isinstance(one.value, ast.Name) and one.value.id == name for one in uses)


_OF_TENSORS = frozenset({"device", "dim", "to", "unsqueeze", "view"})


def _asks(test: ast.expr, name: str) -> bool:
    return any(
        isinstance(one, ast.Call)
        and bool(one.args)
        and isinstance(one.args[0], ast.Name)
        and one.args[0].id == name
        and ast.unparse(one.func).rpartition(".")[2] in {"isinstance", "is_tensor"}
        for one in ast.walk(test)
    )
