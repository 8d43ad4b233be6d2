"""What the calls of a function give one of its parameters, in its file and in those that import it."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._arguments import given


def arguments(program: Program, function: scope.Function, name: str) -> list[tuple[Program, ast.expr | None]]:
    """What each call gives the parameter `name`, with the file of the call.

    None where the call leaves it out, or hides it in stars. Of a constructor, the calls of its class.
    """
    names = scope.parameters(function)
    owner = program.names.parent(function)
    bound = isinstance(owner, ast.ClassDef) and names[:1] in (["self"], ["cls"])
    position = names.index(name) - bound
    called = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    return [(where, given(call, position, name)) for where, call in program.callers(called)]
