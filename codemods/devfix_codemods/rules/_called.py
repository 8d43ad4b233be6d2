"""What a call runs, by syntax: a function of the file, or of another one of the project."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program


def called_function(program: Program, call: ast.Call) -> tuple[Program, scope.Function] | None:
    """The function that a plain or imported name means, with its file; None where it is none, or one of several."""
    own = [one for one in program.tree.body if isinstance(one, scope.Function) and one.name == dotted(call.func)]
    if own:
        return (program, own[0]) if len(own) == 1 else None
    imported = program.names.imported(call.func)
    found = program.project.lookup(program.unit, imported) if program.project is not None and imported else None
    if found is None or not isinstance(found.definition, scope.Function):
        return None
    return program.beside(found.unit), found.definition
