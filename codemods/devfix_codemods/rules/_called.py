"""What a call runs, by syntax: a function or a method of the file, or of another one of the project."""

import ast
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.project.tree import dotted
from devfix_codemods.project.units import Unit


def called_function(program: Program, call: ast.Call) -> tuple[Program, scope.Function] | None:
    """The function that a plain or imported name means, with its file; None where it is none, or one of several."""
    found = function_of(program.unit, program.project, call.func)
    return (program.beside(found.unit), found.definition) if found is not None else None


@dataclass(frozen=True, slots=True)
class Defined:
    """A function of the project, with the file that it stands in."""

    unit: Unit
    definition: scope.Function


def function_of(unit: Unit, project: Project | None, name: ast.expr) -> Defined | None:
    """The function that a plain or imported name means, as for `called_function`, of a file that is no program yet."""
    own = [one for one in unit.source.tree.body if isinstance(one, scope.Function) and one.name == dotted(name)]
    if own:
        return Defined(unit, own[0]) if len(own) == 1 else None
    imported = unit.names.imported(name)
    found = project.lookup(unit, imported) if project is not None and imported else None
    if found is None or not isinstance(found.definition, scope.Function):
        return None
    return Defined(found.unit, found.definition)


def called_method(program: Program, call: ast.Call) -> tuple[Program, scope.Function] | None:
    """The method of a class of the project that `x.method()` means, with its file.

    `x` is `self`, a parameter annotated with the class, or a name that is bound once, by a call of it. For a method of
    the class itself or a static one, `x` may be the class, or `cls`.
    """
    if not isinstance(call.func, ast.Attribute):
        return None
    root = call.func.value
    owner = class_of(program, root) if isinstance(root, ast.Name) else None
    method = program.classes.methods(owner).get(call.func.attr) if owner is not None else None
    if method is None and (owner := named_class(program, root)) is not None:
        method = program.classes.methods(owner).get(call.func.attr)
        method = method if method is not None and _needs_no_object(method) else None
    if method is None:
        return None
    home = home_of(program, method)
    return (home, method) if home is not None else None


def home_of(program: Program, node: ast.AST) -> Program | None:
    """The file of the project in which a definition stands."""
    if program.unit.holds(node):
        return program
    home = program.project.home_of(node) if program.project is not None else None
    return program.beside(home) if home is not None else None


def _needs_no_object(method: scope.Function) -> bool:
    return any(isinstance(one, ast.Name) and one.id in {"classmethod", "staticmethod"} for one in method.decorator_list)


def class_of(program: Program, node: ast.Name) -> ast.ClassDef | None:
    """The class of the project whose instance a name is: as in `called_method`."""
    if node.id == "self":
        return scope.class_around(program, node)
    found = [one for one in program.bindings.seen(node.id, node) if not _moves_itself(one.value, node.id)]
    if len(found) != 1:
        return None
    value, said = found[0].value, found[0].annotation
    named = value.func if said is None and isinstance(value, ast.Call) else said
    return named_class(program, named) if named is not None else None


def _moves_itself(value: ast.expr | None, name: str) -> bool:
    """`model = model.to(device)`"""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=moved), attr="to" | "cuda" | "cpu" | "eval" | "train")):
            return moved == name
    return False


def named_class(program: Program, node: ast.expr) -> ast.ClassDef | None:
    """The class that an annotation, or what is called, names: `Context`, `"Context"`, `Context | None`."""
    match node:
        case ast.BinOp(left=inner, op=ast.BitOr(), right=ast.Constant(value=None)):
            return named_class(program, inner)
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return named_class(program, inner)
    if isinstance(node, ast.Name) and node.id == "cls":
        return scope.class_around(program, node)
    name = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else dotted(node)
    own = [one for one in program.tree.body if isinstance(one, ast.ClassDef) and one.name == name]
    if own or name is None or program.project is None:
        return own[0] if len(own) == 1 else None
    if not isinstance(node, ast.Constant):
        return program.project.parent(program.unit, node)
    bound = [one.imported for one in program.unit.top_level.get(name, []) if one.imported is not None]
    found = program.project.lookup(program.unit, bound[0]) if len(bound) == 1 else None
    return found.definition if found is not None and isinstance(found.definition, ast.ClassDef) else None
