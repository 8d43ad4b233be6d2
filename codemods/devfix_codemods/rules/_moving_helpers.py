"""Functions of the project that bring what they are given to a device: `create_var(x)` for `Variable(x).cuda()`."""

import ast

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._arguments import given
from devfix_codemods.rules._called import called_function

MOVES = frozenset({"to", "cuda", "to_device", "type_as"})


def moves(program: Program, node: ast.Attribute) -> bool:
    """`.to(device)`, not `.to(torch.long)`."""
    call = program.names.parent(node)
    if node.attr != "to" or not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) != 1:
        return True
    if call.keywords and call.keywords[0].arg == "dtype":
        return False
    (target,) = (*call.args, *(one.value for one in call.keywords))
    return not (program.names.qualified(target) or "").startswith("torch.")


def is_moved_inside(program: Program, call: ast.Call, argument: ast.expr) -> bool:
    """Whether the function that `call` runs moves its parameter for `argument`, or a copy of that alone."""
    found = called_function(program, call)
    if found is None:
        return False
    there, function = found
    names = scope.parameters(function)
    taken = {name for position, name in enumerate(names) if given(call, position, name) is argument}
    return bool(taken) and any(_is_move_of(there, one, taken) for one in ast.walk(function))


def _is_move_of(program: Program, node: ast.AST, names: set[str]) -> bool:
    """`x.cuda()`, `Variable(x).cuda()`: no sum with what is elsewhere."""
    if not isinstance(node, ast.Attribute) or node.attr not in MOVES or not moves(program, node):
        return False
    whole = not any(isinstance(one, ast.BinOp) for one in ast.walk(node.value))
    return whole and isinstance(program.names.parent(node), ast.Call) and not names.isdisjoint(scope.reads(node.value))
