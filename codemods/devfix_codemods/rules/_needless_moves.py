"""Discarded moves that were better deleted: of what is placed already, or of what meets a module of the host."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Move
from devfix_codemods.program import Program

_PLACES = re.compile(r"cuda|device|\.to\(|accelerat|\bmps\b")
_HARMLESS = frozenset({"print", "len", "isinstance", "str", "repr", "type", "summary"})


def is_placed_already(program: Program, move: Move) -> bool:
    """Whether a framework has placed what a method of its class is given, or a part of that."""
    function, owner = scope.function_around(program, move.node), scope.class_around(program, move.node)
    if function is None or owner is None or not program.classes.is_managed(owner):
        return False
    given = set(scope.parameters(function)) - {"self"}
    receiver = scope.indexed(move.receiver)
    if not isinstance(receiver, ast.Name):
        return False
    stores = [program.names.statement(one) for one in scope.stores(function, receiver.id)]
    above = [one for one in stores if one.lineno < move.node.lineno]
    return receiver.id in given if not above else all(_takes_apart(one, given) for one in above)


def _takes_apart(statement: ast.stmt, given: set[str]) -> bool:
    """`x, y = batch`, `x = batch["image"]`."""
    value = scope.indexed(statement.value) if isinstance(statement, ast.Assign) else None
    return isinstance(value, ast.Name) and value.id in given


def module_on_host(program: Program, move: Move) -> str | None:
    """The module that gets the value next, where the function builds it and nothing ever takes it to a device.

    Only a class of this file whose own code has no word of a device, or one of `torch.nn`.
    """
    if not isinstance(move.receiver, ast.Name) or "set_default_device" in program.source.text:
        return None
    around = scope.function_around(program, move.node) or program.tree
    for call in (one for one in ast.walk(around) if isinstance(one, ast.Call) and one.lineno > move.node.lineno):
        given = [one for one in scope.given_to(call) if dotted(one) == move.receiver.id]
        if given and isinstance(call.func, ast.Name) and _stays(program, around, call.func.id):
            return call.func.id
    return None


def _stays(program: Program, around: ast.AST, name: str) -> bool:
    changes = list(scope.changes(around, name))
    statement = program.names.statement(changes[0]) if len(changes) == 1 else None
    built = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(built, ast.Call) or not _is_built_on_host(program, built):
        return False
    return not any(_may_move(program, one) for one in scope.loads(around, {name}))


def _is_built_on_host(program: Program, call: ast.Call) -> bool:
    if any(_PLACES.search(ast.unparse(one)) for one in (*call.args, *call.keywords)):
        return False
    qualified = program.names.qualified(call.func) or ""
    if qualified.startswith("torch.nn."):
        return True
    classes = [one for one in program.tree.body if isinstance(one, ast.ClassDef) and one.name == dotted(call.func)]
    return len(classes) == 1 and program.classes.is_module(classes[0]) and not _PLACES.search(ast.unparse(classes[0]))


def _may_move(program: Program, node: ast.Name) -> bool:
    """`net.cuda()`, `net.to(device)`, and whatever gets the module."""
    parent = program.names.parent(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr in {"to", "cuda", "apply", "half", "_apply"}
    if isinstance(parent, ast.Call):
        return parent.func is not node and (dotted(parent.func) or "").rpartition(".")[2] not in _HARMLESS
    return True
