"""What the code around has taken to the host, by the last move: tensors and modules."""

import ast
import re
from operator import attrgetter

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, walk
from devfix_codemods.rules._host_literals import is_host_literal

_MOVES = frozenset({"to", "cuda", "cpu"})


def moves_to_host(node: ast.expr) -> bool:
    """`x.cpu()`, `x.to("cpu")`, `x.to(torch.device("cpu"))`, `x.to(device="cpu")`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr == "cpu":
        return True
    given = scope.given_to(node)
    return node.func.attr in {"to", "to_device"} and any(re.search(r"\bcpu\b|host", ast.unparse(one)) for one in given)


def is_brought(program: Program, node: ast.expr) -> bool:
    """Whether the last move of a tensor took it to the host: `x.to(device).cpu()`."""
    around = scope.function_around(program, node) or program.tree
    taken = scope.given_last(around, node.id, node.lineno) if isinstance(node, ast.Name) else node
    return taken is not None and _ends_on_host(program, taken)


def is_on_host(program: Program, module: ast.expr) -> bool:
    """Whether the last move of a module above, in the same function or script, took it to the host."""
    text = dotted(module)
    moves = [
        one
        for one in walk(scope.function_around(program, module) or program.tree)
        if isinstance(one, ast.Call)
        and isinstance(one.func, ast.Attribute)
        and one.func.attr in _MOVES
        and one.lineno < module.lineno
        and dotted(one.func.value) == text
    ]
    return (
        text is not None and bool(moves) and goes_to_host(program, max(moves, key=attrgetter("lineno", "col_offset")))
    )


def _ends_on_host(program: Program, node: ast.expr) -> bool:
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _MOVES and not sets_dtype(node):
            return goes_to_host(program, node)
        node = node.func.value
    return False


def goes_to_host(program: Program, call: ast.Call) -> bool:
    """`x.cpu()`, `x.to(device)` with `device = torch.device("cpu")` and nothing else."""
    given = scope.given_to(call)
    if moves_to_host(call) or not given or not isinstance(given[0], ast.Name):
        return moves_to_host(call)
    found = program.bindings.seen(given[0].id, given[0])
    return bool(found) and all(one.value is not None and is_host_literal(one.value) for one in found)


def sets_dtype(node: ast.Call) -> bool:
    """`x.to(torch.float)`, `x.to(y.dtype)`."""
    given = scope.given_to(node)
    return bool(given) and all(re.search(r"dtype|torch\.(?!device)|float|int", ast.unparse(one)) for one in given)
