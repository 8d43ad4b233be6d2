"""Tensors on the host of which parts are set to what was moved to a device: `out[i] = x.to(y.device)`.

The assignment copies, so nothing fails there, and each move is undone at once: its author takes the whole to be there.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._taken_to_host import moves_to_host


def device_of_parts(program: Program, function: scope.Function, call: ast.Call) -> str | None:
    """The one device to which parts of what `call` makes are moved, if that has a name where it is made."""
    statement = program.names.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    if not isinstance(target, ast.Name):
        return None
    again = [one.lineno for one in scope.changes(function, target.id) if one is not target]
    if any(line <= target.lineno for line in again):
        return None
    parts = [one for one in _parts(function, target.id) if not again or one.lineno < min(again)]
    texts = {text for one in parts if (text := _moved_to(program, one)) is not None}
    text = texts.pop() if len(texts) == 1 else None
    if text is None or any(isinstance(one, ast.Call) and moves_to_host(one) for one in parts):
        return None
    root = text.partition(".")[0]
    kept = all(one.lineno < call.lineno for one in scope.changes(function, root))
    return text if kept and root != target.id and root in scope.bound_at(program, statement) else None


def _parts(function: scope.Function, name: str) -> Iterator[ast.expr]:
    """`x` of each `name[i] = x`."""
    for one in ast.walk(function):
        if isinstance(one, ast.Assign) and any(
            isinstance(each, ast.Subscript) and dotted(each.value) == name for each in one.targets
        ):
            yield one.value


def _moved_to(program: Program, part: ast.expr) -> str | None:
    """`y.device` of `x.to(y.device)` and `torch.zeros(3, device=y.device)`."""
    if not isinstance(part, ast.Call):
        return None
    given = [one.value for one in part.keywords if one.arg == "device"]
    if isinstance(part.func, ast.Attribute) and part.func.attr == "to":
        given += part.args[:1]
    elif tables.canonical(program.names.qualified(part.func) or "") not in tables.FACTORIES:
        return None
    text = dotted(given[0]) if given else None
    return text if text is not None and text.rpartition(".")[2].endswith("device") else None
