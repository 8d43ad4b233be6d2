"""Sums of losses that begin as a tensor on the host, which takes none of a device in place."""

import ast
from collections.abc import Callable

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceStatement
from devfix_codemods.findings import Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._following import Following, placed
from devfix_codemods.rules._host_on_purpose import LEAVES, is_scalar
from devfix_codemods.rules._optional import optional_parameters


def is_sum(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """Whether `call` is what `total_loss = torch.tensor(0.0)` starts from, and losses are added in place."""
    name = _name(program, call)
    if name is None or "loss" not in name.lower() or not _is_zero(call):
        return False
    return any(_adds_losses(one, name) for one in ast.walk(function))


def repaired_sum(
    program: Program, devices: Callable[[], Devices], function: scope.Function, call: ast.Call
) -> Following | None:
    """The sum on the device of the losses, where something names that; else a new sum each time. A choice."""
    device = _device_of_loss(program, devices, function, call)
    edit = placed(program, call, device) if device is not None else None
    if device is not None and edit is not None:
        return Following(device, (edit,), Safety.UNSAFE)
    name = _name(program, call)
    return _added_anew(program, function, call, name) if name is not None else None


def _name(program: Program, call: ast.Call) -> str | None:
    statement = program.names.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    return target.id if isinstance(target, ast.Name) else None


def _is_zero(call: ast.Call) -> bool:
    """`torch.tensor(0.0)`, `torch.zeros(1)`, `torch.zeros(())`, `torch.FloatTensor([0])`."""
    return all(isinstance(one, (ast.Constant, ast.List, ast.Tuple)) and not _reads_names(one) for one in call.args)


def _reads_names(node: ast.AST) -> bool:
    return next(scope.reads(node), None) is not None


def _adds_losses(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
        return False
    if not isinstance(node.target, ast.Name) or node.target.id != name:
        return False
    inside = [one for one in ast.walk(node.value) if isinstance(one, (ast.Name, ast.Attribute))]
    texts = [one.id if isinstance(one, ast.Name) else one.attr for one in inside]
    return any("loss" in one.lower() or one.endswith("cross_entropy") for one in texts) and not LEAVES & set(texts)


# The device of the losses


def _device_of_loss(
    program: Program, devices: Callable[[], Devices], function: scope.Function, call: ast.Call
) -> str | None:
    named = devices().first(program.names.statement(call))
    if named is not None:
        return named.text
    hands = program.facts.births.get(call, {}).values()
    at_hand = [name for hand in hands for name, _ in hand.tensors if "." not in name]
    optional = optional_parameters(function)
    if tensor := next((one for one in at_hand if one not in optional), None):
        return f"{tensor}.device"
    return _device_of_part(program, function, call)


def _device_of_part(program: Program, function: scope.Function, call: ast.Call) -> str | None:
    """`self.net.device`, where a method of the same class reads it and this one works with `self.net`."""
    owner = scope.class_around(program, call)
    if owner is None or "self" not in scope.parameters(function):
        return None
    used = {text for one in ast.walk(function) if isinstance(one, ast.Attribute) and (text := dotted(one)) is not None}
    for one in ast.walk(owner):
        text = dotted(one) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load) else None
        if text is not None and text.startswith("self.") and text.endswith(".device") and text[:-7] in used:
            return text
    return None


# Without one


def _added_anew(program: Program, function: scope.Function, call: ast.Call, name: str) -> Following | None:
    """`total = total + loss`: what a 0-dim sum on the host gives with a loss on a device is on that device."""
    if (dotted(call.func) or "").rpartition(".")[2] not in {"tensor", "scalar_tensor"} or not is_scalar(call):
        return None
    sums = [one for one in ast.walk(function) if isinstance(one, ast.AugAssign) and dotted(one.target) == name]
    if any(not isinstance(one.op, ast.Add) or one.lineno != one.end_lineno for one in sums):
        return None
    edits = tuple(ReplaceStatement(program.source.span(one), _new_sum(name, one.value)) for one in sums)
    return Following("the device of what is added", edits, Safety.UNSAFE)


def _new_sum(name: str, added: ast.expr) -> str:
    text = ast.unparse(added)
    simple = isinstance(added, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return f"{name} = {name} + {text if simple else f'({text})'}"
