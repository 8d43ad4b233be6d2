"""Whether an attribute is there on every object of a class, or only on those that some path has set it on."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.bindings import initializers
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program

_REGISTERING = frozenset({"self.register_buffer", "self.register_parameter", "self.add_module"})
_DEPTH = 3


def is_always_set(program: Program, text: str, node: ast.AST) -> bool:
    """Whether `self.name` in a method is one that its class sets on every path, or nowhere: then it is inherited."""
    root, _, rest = text.partition(".")
    name = rest.partition(".")[0]
    owner, function = scope.class_around(program, node), scope.function_around(program, node)
    if root != "self" or not name or owner is None or function is None:
        return True
    if not any(_is_set_by(one, name) for one in walk(owner)) or any(name in scope.stored(one) for one in _plain(owner)):
        return True
    line = program.names.statement(node).lineno
    above = [one for one in function.body if one.lineno < line]
    return _sets(owner, above, name, 0) or any(_sets(owner, one.body, name, 0) for one in initializers(owner))


def _plain(owner: ast.ClassDef) -> list[ast.stmt]:
    """What stands in the body of a class, but for methods."""
    return [one for one in owner.body if not isinstance(one, scope.Function)]


def _is_set_by(node: ast.AST, name: str) -> bool:
    """`self.name = …`, also in a tuple, or `self.register_buffer("name", …)`."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()):
            return attribute == name
        case ast.Call(args=[ast.Constant(value=str() as registered), *_]):
            return registered == name and dotted(node.func) in _REGISTERING
    return False


def _sets(owner: ast.ClassDef, block: list[ast.stmt], name: str, depth: int) -> bool:
    """Whether every path through `block` that goes on sets the attribute, in methods that it calls too."""
    return any(_surely(owner, one, name, depth) for one in block)


def _surely(owner: ast.ClassDef, statement: ast.stmt, name: str, depth: int) -> bool:
    match statement:
        case ast.Assign() | ast.AnnAssign() | ast.Expr():
            return any(_is_set_by(one, name) or _calls_one_that(owner, one, name, depth) for one in walk(statement))
        case ast.If(body=body, orelse=orelse):
            return all(_sets(owner, one, name, depth) or scope.raises(one) for one in (body, orelse))
        case ast.With(body=body) | ast.Try(body=body):
            return _sets(owner, body, name, depth)
    return False


def _calls_one_that(owner: ast.ClassDef, node: ast.AST, name: str, depth: int) -> bool:
    """`self.build()`, a method of the class that sets the attribute."""
    called = dotted(node.func) if isinstance(node, ast.Call) and depth < _DEPTH else None
    return called is not None and any(
        f"self.{one.name}" == called and _sets(owner, one.body, name, depth + 1)
        for one in owner.body
        if isinstance(one, scope.Function)
    )
