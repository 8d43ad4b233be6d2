"""Tensors that are computed of the very one that they meet later: if that was misplaced, the first step has failed."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program
from devfix_codemods.rules._following import root_name

_MOVES = frozenset({"to", "cuda", "cpu", "type_as", "item", "tolist", "numpy"})


def is_computed_of(program: Program, meeting: Meeting) -> bool:
    """Whether the misplaced tensor went, where it is, into what the anchor comes from: `z = net(x)`, `loss(z, x)`."""
    misplaced, function = root_name(meeting.misplaced.node), scope.function_around(program, meeting.node)
    if misplaced is None or function is None:
        return False
    line = program.names.statement(meeting.node).lineno
    pending, seen = tensors_in(meeting.anchor.node), set[str]()
    while pending:
        name = pending.pop()
        seen.add(name)
        last = scope.last_assignment(function, name, line)
        value = last.value if last is not None else None
        if value is None or any(isinstance(one, ast.Attribute) and one.attr in _MOVES for one in ast.walk(value)):
            continue
        found = tensors_in(value)
        if misplaced in found and name != misplaced:
            return True
        pending |= found - seen - {"self", misplaced}
    return False


def tensors_in(node: ast.AST) -> set[str]:
    """The names in an expression, but for those of which only a number is taken: `x.item()`, `x.shape[0]`, `len(x)`."""
    match node:
        case ast.Attribute(attr="shape" | "dtype" | "device" | "ndim" | "item" | "size" | "numel" | "dim"):
            return set()
        case ast.Call(func=ast.Name(id="len" | "int" | "float")):
            return set()
        case ast.Name(id=name):
            return {name} - _LIBRARIES
    return {name for one in ast.iter_child_nodes(node) for name in tensors_in(one)}


_LIBRARIES = frozenset({"torch", "math", "np", "F"})
