"""A class that is told its device and does not keep it: where `self.device = device` goes."""

import ast

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import Site
from devfix_codemods.rules._optional import optional_parameters

ADVICE = "keep the `device` of the constructor as `self.device`, and use it here"


def is_told_only(program: Program, site: Site) -> bool:
    """Whether a site stands in a method of a class whose constructor gets a `device` that no attribute holds."""
    owner, function = scope.class_around(program, site.call), scope.function_around(program, site.call)
    if owner is None or function is None or function.name == "__init__" or "device" in scope.parameters(function):
        return False
    init = program.classes.methods(owner).get("__init__")
    return init is not None and "device" in scope.parameters(init) and not _keeps(owner)


def _keeps(owner: ast.ClassDef) -> bool:
    return any(
        isinstance(node, ast.Attribute) and "device" in node.attr and _is_self(node.value) for node in ast.walk(owner)
    )


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def kept(program: Program, site: Site) -> InsertStatement | None:
    """The line that keeps the device, above all that may need it; None where a method is no plain one of the class."""
    owner, function = scope.class_around(program, site.call), scope.function_around(program, site.call)
    init = program.classes.methods(owner).get("__init__") if owner is not None else None
    if owner is None or function is None or init is None or init not in owner.body or function not in owner.body:
        return None
    if scope.parameters(function)[:1] != ["self"] or "device" in optional_parameters(init) or _is_bound_again(init):
        return None
    if any(isinstance(one, scope.Function | ast.Assign | ast.AnnAssign) and _names_device(one) for one in owner.body):
        return None
    anchor = _after(init)
    if anchor is not None:
        return InsertStatement(program.source.span(anchor), "after", "self.device = device")
    first = next((one for one in init.body if not _is_text(one)), None)
    return InsertStatement(program.source.span(first), "before", "self.device = device") if first is not None else None


def _is_bound_again(init: scope.Function) -> bool:
    return any("device" in scope.stored(one) for one in init.body)


def _names_device(node: ast.stmt) -> bool:
    return (isinstance(node, scope.Function) and node.name == "device") or (
        not isinstance(node, scope.Function) and "device" in scope.stored(node)
    )


def _after(init: scope.Function) -> ast.stmt | None:
    """The call of the base's constructor: what it sets stays below it."""
    for one in init.body:
        if isinstance(one, ast.Expr) and "super()" in ast.unparse(one) and "__init__" in ast.unparse(one):
            return one
    return None


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
