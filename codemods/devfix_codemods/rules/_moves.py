"""How a fix writes a move: which device expression, in whose style, and where the line may stand."""

import ast

from devfix_codemods.edits.operations import Edit, InsertStatement
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.repairs.declared import DECLARATION
from devfix_codemods.source import Span


def copied_suffix(program: Program, call: ast.Call) -> str | None:
    """`.to(device, non_blocking=True)` of an existing move, verbatim; None where it also changes the dtype."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    if function.attr not in {"to", "cuda"} or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    keywords = {one.arg for one in call.keywords}
    if function.attr == "to" and (len(call.args) > 1 or not keywords <= {"device", "non_blocking"}):
        return _plain_suffix(program, call)
    receiver, whole = program.source.span(function.value), program.source.span(call)
    text = program.source.segment(Span(receiver.end_line, receiver.end_column, whole.end_line, whole.end_column))
    return (
        text.lstrip(") \t")
        if "\n" not in text and text.lstrip(") \t").startswith(".")
        else _plain_suffix(program, call)
    )


def _plain_suffix(program: Program, call: ast.Call) -> str | None:
    """The move of `call` without the dtype and layout that it also sets."""
    device = next((one.value for one in call.keywords if one.arg == "device"), call.args[0] if call.args else None)
    if device is None or isinstance(device, ast.Starred):
        return None
    blocking = any(one.arg == "non_blocking" for one in call.keywords)
    return f".to({program.source.segment(program.source.span(device))}{', non_blocking=True' if blocking else ''})"


def roots(text: str) -> set[str]:
    """The names that a move's text reads."""
    tree = ast.parse(f"_{text}", mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"_"}


def declare_device(program: Program, before: int) -> tuple[Edit, ...] | None:
    """The edits that bind `device` at module level, after the imports that come before the line `before`.

    None where the name is taken or `torch` is not at hand there.
    """
    above = (node for node in program.tree.body if (node.end_lineno or node.lineno) < before)
    imports = [node for node in above if isinstance(node, (ast.Import, ast.ImportFrom))]
    has_torch = any(isinstance(one, ast.Import) and any(_binds_torch(alias) for alias in one.names) for one in imports)
    taken = any(
        isinstance(node, (ast.Name, ast.arg)) and _bound_name(node) == "device" for node in ast.walk(program.tree)
    )
    if not imports or not has_torch or taken:
        return None
    anchor = program.source.span(imports[-1])
    return (InsertStatement(anchor, "after", DECLARATION, spaced=True),)


def _binds_torch(alias: ast.alias) -> bool:
    return alias.name.partition(".")[0] == "torch" and alias.asname in {None, "torch"}


def _bound_name(node: ast.Name | ast.arg) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node.ctx, ast.Store) else None


def text_of(program: Program, node: ast.AST) -> str:
    """The source of an expression, on one line."""
    text = program.source.segment(program.source.span(node))
    return dotted(node) or " ".join(text.split()) if isinstance(node, ast.expr) else " ".join(text.split())
