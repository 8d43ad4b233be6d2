"""A device for code that chooses none: a name for it, near the imports of a script, in a function, in a class."""

import ast
import re
from collections.abc import Iterator, Sequence

from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.edits.torch_alias import torch_names
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.source import Source

CUDA_OR_HOST = '"cuda" if torch.cuda.is_available() else "cpu"'
DECLARATION = f"device = torch.device({CUDA_OR_HOST})"
ACCELERATOR_DECLARATION = (
    'device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")'
)
ACCELERATOR_SINCE = (2, 6)
"""The first torch with `torch.accelerator`. There `current_accelerator()` raises where none is available; later it
answers None, or the accelerator that torch was built for, so it has to be asked behind `is_available()`."""

_CHOICE = CUDA_OR_HOST.replace('"', "'")
_CHOICES = frozenset({_CHOICE, f"torch.device({_CHOICE})"})
"""What the declaration says, as `ast.unparse` writes it."""
_WAITS = re.compile(r"\btorch\.cuda\.(?:synchronize|max_memory_\w+|memory_\w+|reset_\w*stats|get_device_\w+)\(")
"""What a function that measures a card asks of it."""


def binds_torch(tree: ast.Module, before: int | None = None) -> bool:
    """Whether a statement of a file itself imports torch, above the line `before` if given; a fix may speak of it."""
    return bool(torch_names(tree, before))


def names_device(around: ast.AST) -> bool:
    """Whether code reads or binds a name `device`, or has a parameter of that name; imports and `def` do not count."""
    return any(
        (isinstance(one, ast.Name) and one.id == "device") or (isinstance(one, ast.arg) and one.arg == "device")
        for one in ast.walk(around)
    )


def main_guard(tree: ast.Module) -> ast.If | None:
    """`if __name__ == "__main__":`"""
    guards = (one for one in tree.body if isinstance(one, ast.If) and "__main__" in ast.unparse(one.test))
    return next(guards, None)


def measures(function: Function) -> bool:
    """Whether a function waits for a card, or asks for its memory."""
    return _WAITS.search(ast.unparse(function.syntax)) is not None


def in_module(source: Source, first: int) -> tuple[Edit, ...] | None:
    """The line that binds `device` behind the imports above the line `first`; None where torch is not at hand there."""
    imports = [
        one
        for one in source.tree.body
        if isinstance(one, ast.Import | ast.ImportFrom) and (one.end_lineno or 0) < first
    ]
    if not imports or not binds_torch(source.tree, first) or names_device(source.tree):
        return None
    return (InsertStatement(source.span(imports[-1]), "after", DECLARATION, spaced=True),)


def in_block(source: Source, body: Sequence[ast.stmt], uses: Sequence[ast.AST]) -> tuple[Edit, ...] | None:
    """The same above the first statement of a block that needs it."""
    wanted = list(uses)
    first = next((one for one in body if _holds(one, wanted)), None)
    if first is None or not binds_torch(source.tree):
        return None
    return (InsertStatement(source.span(first), "before", DECLARATION),)


def for_choice(source: Source, choice: ast.AST, line: int) -> tuple[Edit, ...] | None:
    """A declaration above `line` for what is chosen on the spot, with all moves by the same choice made by the name."""
    if ast.unparse(choice) not in _CHOICES:
        return None
    wanted = ast.dump(choice)
    moves = (
        one for one in ast.walk(source.tree) if isinstance(one, ast.Call) and ast.unparse(one.func).endswith(".to")
    )
    given = (one for move in moves for one in (*move.args[:1], *_named_device(move)))
    same = [one for one in given if ast.dump(one) == wanted]
    edits = in_module(source, min([line, *(one.lineno for one in same)]))
    return (*edits, *(ReplaceExpression(source.span(one), "device") for one in same)) if edits is not None else None


def _named_device(move: ast.Call) -> list[ast.expr]:
    """The device in `x.to(device=device)`."""
    return [one.value for one in move.keywords if one.arg == "device"]


# What a function asks more than once


def of_model(source: Source, function: Function, device: str, moves: Sequence[Node]) -> Edit | None:
    """`device = next(model.parameters()).device`, above the first of several moves that follow a model.

    It stands in the innermost block that a run goes through for all of them; None where each has a branch of its own:
    where none of them runs, the model may have no parameters.
    """
    if isinstance(function.syntax, ast.Module | ast.Lambda) or len(moves) < 2 or names_device(function.syntax):
        return None
    block = _common(function.syntax.body, [one.syntax for one in moves if one.syntax is not None])
    if block is None:
        return None
    first = next(one for one in block if _holds(one, [one.syntax for one in moves if one.syntax is not None]))
    return InsertStatement(source.span(first), "before", f"device = {device}")


def _common(body: Sequence[ast.stmt], uses: list[ast.AST]) -> Sequence[ast.stmt] | None:
    """The block to bind a name in for all uses, or None: the first that is surely reached for one of them."""
    users = [one for one in body if _holds(one, uses)]
    always = [one for one in users if not isinstance(one, ast.If | ast.For | ast.While | ast.Try | ast.With)]
    first = users[0]
    if always or len(users) > 1:
        reached = any(not isinstance(one, ast.If) or _in_test(one, uses) for one in users)
        return body if reached else None
    match first:
        case ast.If():
            if _in_test(first, uses):
                return body
            branches = [one for one in (first.body, first.orelse) if any(_holds(each, uses) for each in one)]
            return _common(branches[0], uses) if len(branches) == 1 else None
        case ast.With(body=inner) | ast.For(body=inner) | ast.While(body=inner) if _beside(first, inner, uses):
            return body
        case ast.With(body=inner):
            return body if _common(inner, uses) is not None else None
        case ast.For(body=inner) | ast.While(body=inner):
            leaves = _leaves_before(inner, uses)
            found = _common(inner, uses)
            if found is None:
                return None
            return body if found is inner and not leaves else found
    return body


def _leaves_before(body: Sequence[ast.stmt], uses: list[ast.AST]) -> bool:
    """Whether a turn may be over before any of the uses."""
    for one in body:
        if _holds(one, uses):
            return False
        if any(isinstance(each, ast.Continue | ast.Break | ast.Return) for each in ast.walk(one)):
            return True
    return False


def _beside(first: ast.stmt, inner: list[ast.stmt], uses: list[ast.AST]) -> bool:
    """Whether a use is in what a loop goes over, or a `with` enters, or in the `else` of a loop."""
    return any(_holds(one, uses) for one in ast.iter_child_nodes(first) if one not in inner)


def _in_test(choice: ast.stmt, uses: list[ast.AST]) -> bool:
    return isinstance(choice, ast.If) and any(use in set(ast.walk(choice.test)) for use in uses)


def _holds(statement: ast.AST, uses: list[ast.AST]) -> bool:
    inside = set(ast.walk(statement))
    return any(one in inside for one in uses)


# What a class is told, and does not keep


def kept_by_constructor(function: Function) -> Function | None:
    """The constructor, which is told a `device` that no attribute of the class holds, of the class of a method."""
    owner = function.owner
    init = owner.methods.get("__init__") if owner is not None else None
    if owner is None or init is None or function is init or "device" in function.parameters:
        return None
    if "device" not in init.parameters or any("device" in one for each in owner.lineage() for one in each.stored):
        return None
    reads = (one for one in ast.walk(owner.syntax) if isinstance(one, ast.Attribute) and "device" in one.attr)
    of_self = any(isinstance(one.value, ast.Name) and one.value.id == "self" for one in reads)
    return None if of_self else init


def keeping(source: Source, function: Function, init: Function) -> Edit | None:
    """`self.device = device` in the constructor, below that of the base; None where the name is taken or open."""
    owner, default = function.owner, init.defaults.get("device")
    if owner is None or function.self_node is None or (default is not None and default.extra is None):
        return None
    taken = any({"device", "__slots__"} & {*one.methods, *one.members} for one in owner.lineage())
    if taken or _is_rebound(init):
        return None
    body = [one for one in init.syntax.body if isinstance(one, ast.stmt)]  # type: ignore[union-attr]
    for one in body:
        if isinstance(one, ast.Expr) and "super()" in ast.unparse(one) and "__init__" in ast.unparse(one):
            return InsertStatement(source.span(one), "after", "self.device = device")
    first = next((one for one in body if not _is_text(one)), None)
    return InsertStatement(source.span(first), "before", "self.device = device") if first is not None else None


def _is_rebound(init: Function) -> bool:
    return init.finals.get("device") is not init.parameters["device"]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# Literals that a script may choose


def constants(top: Function, tree: ast.Module) -> Iterator[tuple[ast.Assign, Node]]:
    """`device = "cuda"` in a script: what is assigned."""
    guard = main_guard(tree)
    for one in (*tree.body, *(guard.body if guard is not None else ())):
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name.lower() in {"device", "dev", "_device", "torch_device"}:
                    made = next((node for node in top.nodes if node.syntax is value and node.op is not Op.PHI), None)
                    if made is not None:
                        yield one, made
