"""Values that a function computes on the host of a tensor that it was given, and that go to CUDA: they go back."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import Site
from devfix_codemods.rules._mixed_parameters import may_have_no_device
from devfix_codemods.rules._optional import may_be_none
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._tensor_words import NUMBERS, SHAPES, TO_NUMBERS

_METHODS = tables.TENSOR_EVIDENCE_METHODS | tables.TENSOR_ONLY_METHODS | {"numpy", "cpu"}
_OF_COPIES = (_METHODS | SHAPES) - {"cpu", "to", "cuda", "type"}
"""Methods of what was taken to the host that say that it is a tensor."""
_SIZED = tables.FACTORIES - {"torch.tensor", "torch.scalar_tensor", "torch.as_tensor", "torch.asarray"}
"""Factories that take a size: what they give is computed of nothing."""
_GIVES_NUMBERS = TO_NUMBERS | {"range"}
_FOR_DATA = frozenset({"__getitem__", "__init__", "__iter__", "__next__"})


def came_from(program: Program, site: Site) -> str | None:
    """`x` in `torch.from_numpy(f(x.cpu().numpy())).cuda()`: the first parameter that the value was computed of."""
    function = scope.function_around(program, site.call)
    if function is None or function.name in _FOR_DATA or "collate" in function.name:
        return None
    made = [site.receiver] if site.receiver is not None else site.call.args[:1]
    if site.receiver is None and program.names.qualified(site.call.func) in _SIZED:
        return None
    names = (name for one in made for name in _Origins(program, function).of(one))
    return next((name for name in names if _has_device(program, function, name, site.call)), None)


def came_from_cuda(program: Program, site: Site) -> str | None:
    """The same, where an `if` around it asks that very tensor whether it is on CUDA, and nothing else."""
    inner: ast.AST = site.call
    for outer in program.names.ancestors(site.call):
        if isinstance(outer, ast.If | ast.IfExp) and _asked(outer.test) and inner is not outer.test:
            name = came_from(program, site)
            sure = inner is outer.body if isinstance(outer, ast.IfExp) else inner in outer.body
            return name if sure and name is not None and name in _asked(outer.test) else None
        if isinstance(outer, scope.Function | ast.ClassDef):
            return None
        inner = outer
    return None


def _asked(test: ast.expr) -> set[str]:
    """The tensors that are on CUDA where a condition holds: `x.is_cuda and …`."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return {
        one.value.id
        for one in parts
        if isinstance(one, ast.Attribute) and one.attr == "is_cuda" and isinstance(one.value, ast.Name)
    }


class _Origins:
    """The parameters of a function that were taken to the host on the way to a value."""

    def __init__(self, program: Program, function: scope.Function) -> None:
        self._program = program
        self._function = function
        self._seen: set[str] = set()

    def of(self, node: ast.expr) -> Iterator[str]:
        match node:
            case ast.Call(func=ast.Attribute(value=taken)) if moves_to_host(node):
                yield from self._parameter(taken)
            case ast.Call(func=ast.Attribute(attr=method)) if method in NUMBERS:
                return
            case ast.Call(func=ast.Name(id=name)) if name in _GIVES_NUMBERS:
                return
            case ast.Call(func=function) if self._program.names.qualified(function) in _SIZED:
                return
            case ast.Call(func=function):
                yield from self.of(function.value) if isinstance(function, ast.Attribute) else ()
                yield from self._all(scope.given_to(node))
            case ast.Name(id=name) if name not in self._seen:
                self._seen.add(name)
                yield from self._all(list(self._given(name)))
            case ast.Subscript(value=value) | ast.Starred(value=value) | ast.UnaryOp(operand=value):
                yield from self.of(value)
            case ast.BinOp(left=left, right=right):
                yield from self._all([left, right])
            case ast.List(elts=parts) | ast.Tuple(elts=parts):
                yield from self._all(parts)
            case ast.ListComp(elt=element, generators=loops):
                yield from self._all([element, *(one.iter for one in loops)])

    def _all(self, nodes: list[ast.expr]) -> Iterator[str]:
        for one in nodes:
            yield from self.of(one)

    def _parameter(self, node: ast.expr) -> Iterator[str]:
        """`x` of `x.detach()`, which is taken to the host: a parameter that stays what it is."""
        while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS:
            node = node.func.value
        name = node.id if isinstance(node, ast.Name) else None
        if name in scope.parameters(self._function) and not any(scope.stores(self._function, name)):
            yield name

    def _given(self, name: str) -> Iterator[ast.expr]:
        """What is assigned to a name, what it is drawn from, and what it collects."""
        for one in walk(self._function):
            match one:
                case ast.Assign() | ast.AugAssign() | ast.AnnAssign(value=ast.expr()) if name in scope.stored(one):
                    assert one.value is not None
                    yield one.value
                case ast.For(target=target, iter=items) if any(scope.stores(target, name)):
                    yield items
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[value]):
                    if owner == name:
                        yield value


def _has_device(program: Program, function: scope.Function, name: str, node: ast.AST) -> bool:
    """Whether a parameter that is taken to the host is a tensor, and goes nowhere else."""
    if may_be_none(program, name, node) or may_have_no_device(program, name, node):
        return False
    taken = name in program.unit.evidence[function].tensors
    for one in walk(function):
        match one:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="cuda" | "to")) if moved == name:
                if not moves_to_host(one):
                    return False
            case ast.Attribute(value=ast.Name(id=asked), attr=attribute) if asked == name:
                taken = taken or attribute == "is_cuda" or attribute in _METHODS - {"cpu"}
            case ast.Attribute(value=ast.Call(func=ast.Attribute(value=ast.Name(id=copied))) as copy, attr=method):
                taken = taken or (copied == name and moves_to_host(copy) and method in _OF_COPIES)
    return taken
