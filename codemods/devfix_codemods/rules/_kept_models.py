"""Models that a trainer is given and keeps, while it brings its batches to a device of its own choice."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import Evidence, dotted
from devfix_codemods.program import Program


@dataclass(frozen=True, slots=True)
class KeptModel:
    """`self.model = model` in a constructor, the move of a batch that the model gets, and where that goes."""

    statement: ast.Assign
    call: ast.Call
    move: ast.Call
    device: str


def kept_models(program: Program) -> Iterator[KeptModel]:
    """Models that no line of their class moves. Frameworks' classes and modules are left out."""
    classes = program.classes
    for owner in program.names.classes:
        constructor = classes.methods(owner).get("__init__")
        if (
            constructor is None
            or constructor not in owner.body
            or classes.is_managed(owner)
            or classes.is_module(owner)
        ):
            continue
        for statement in constructor.body:
            name = _kept(statement, constructor)
            found = _found(program, owner, statement, name) if name is not None else None
            if found is not None:
                yield found


def _kept(statement: ast.stmt, constructor: scope.Function) -> str | None:
    """The parameter without a default that `self.name = name` keeps."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    spec = constructor.args
    required = [one.arg for one in spec.args[: len(spec.args) - len(spec.defaults)]]
    required += [one.arg for one, default in zip(spec.kwonlyargs, spec.kw_defaults) if default is None]
    value = statement.value
    same = isinstance(value, ast.Name) and dotted(statement.targets[0]) == f"self.{value.id}"
    return value.id if isinstance(value, ast.Name) and same and value.id in required else None


def _found(program: Program, owner: ast.ClassDef, statement: ast.stmt, name: str) -> KeptModel | None:
    kept = f"self.{name}"
    for call in program.names.calls:
        if dotted(call.func) != kept or not call.args or owner not in program.names.ancestors(call):
            continue
        move = _moved_before(program, call)
        device = _device(program, move) if move is not None else None
        if move is not None and device is not None and isinstance(statement, ast.Assign):
            evidence: Evidence = program.facts.evidence[owner]
            stays = kept in evidence.modules and evidence.moved.isdisjoint({kept, name})
            return KeptModel(statement, call, move, device) if stays else None
    return None


def _moved_before(program: Program, call: ast.Call) -> ast.Call | None:
    """The move `x = x.to(device)` of an item of the loop around the call, which the call gets."""
    loop = next((one for one in program.names.ancestors(call) if isinstance(one, (ast.For, ast.AsyncFor))), None)
    given = call.args[0]
    if loop is None or not isinstance(given, ast.Name) or given.id not in scope.stored(loop.target):
        return None
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            receiver = node.func.value
            if isinstance(receiver, ast.Name) and receiver.id == given.id and len(node.args) == 1:
                return node
    return None


def _device(program: Program, move: ast.Call) -> str | None:
    """A device that the module names: its constant, or one that it imports."""
    target = move.args[0]
    if not isinstance(target, ast.Name) or not program.names.bound_in_module(target.id):
        return None
    function = scope.function_around(program, move)
    local = function is not None and any(
        isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Store)
        for node in ast.walk(function)
    )
    if local or (function is not None and target.id in scope.parameters(function)):
        return None
    return target.id
