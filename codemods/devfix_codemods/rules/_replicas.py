"""`next(self.parameters()).device` in the replicas of `DataParallel`, which have no parameters."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import TENSOR_EVIDENCE_METHODS
from devfix_codemods.program import Program

_TENSOR_USES = TENSOR_EVIDENCE_METHODS | {"size", "shape", "device", "dtype"}


@dataclass(frozen=True, slots=True)
class Question:
    """`next(self.parameters()).device` in code that `forward` runs, and the tensor that can answer instead."""

    node: ast.expr
    method: scope.Function
    tensor: str | None


def questions(program: Program) -> Iterator[Question]:
    """Every such expression, in source order of the classes."""
    classes = program.classes
    for owner in program.names.classes:
        if classes.is_module(owner):
            for method in _run_by_forward(classes.methods(owner)):
                for node in ast.walk(method):
                    if isinstance(node, ast.Attribute) and node.attr == "device" and _is_first_parameter(node.value):
                        yield Question(node, method, _tensor(program, method, node))


def _run_by_forward(methods: dict[str, scope.Function]) -> list[scope.Function]:
    """`forward`, and the methods of the class that it calls."""
    found = [methods["forward"]] if "forward" in methods else []
    for one in found:
        for node in ast.walk(one):
            if isinstance(node, ast.Call) and (name := dotted(node.func) or "").startswith("self."):
                called = methods.get(name.removeprefix("self."))
                if called is not None and called not in found:
                    found.append(called)
    return found


def _is_first_parameter(node: ast.expr) -> bool:
    return ast.unparse(node) == "next(self.parameters())"


def _tensor(program: Program, method: scope.Function, node: ast.expr) -> str | None:
    """The first parameter that is used as a tensor, unless the answer is used to move what the method gets."""
    names = scope.parameters(method)[1:]
    if any(isinstance(one, ast.Attribute) and one.attr in {"to", "cuda"} for one in ast.walk(method)):
        return None
    used = {
        one.value.id
        for one in ast.walk(method)
        if isinstance(one, ast.Attribute) and one.attr in _TENSOR_USES and isinstance(one.value, ast.Name)
    }
    optional = {name for name, default in _defaults(method)}
    line = program.names.statement(node).lineno
    bound = {
        one.id
        for one in ast.walk(method)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.lineno < line
    }
    return next((name for name in names if name in used - optional - bound), None)


def _defaults(method: scope.Function) -> list[tuple[str, ast.expr]]:
    spec = method.args
    named = [one.arg for one in (*spec.posonlyargs, *spec.args)]
    return list(zip(named[len(named) - len(spec.defaults) :], spec.defaults))
