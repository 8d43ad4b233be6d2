"""Sums that metrics of ignite keep on their own device, and what `update` adds to them from another."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import FACTORIES
from devfix_codemods.program import Program

_UPDATES = frozenset({"update", "_update"})
_REDUCTIONS = frozenset({"sum", "mean", "square", "abs", "pow", "sqrt", "max", "min", "norm", "prod", "count_nonzero"})
_LEAVING = frozenset({"to", "cpu", "cuda", "item", "tolist", "numpy", "shape", "size", "numel", "device"})
"""Methods and attributes after which a value is elsewhere, or no tensor."""


@dataclass(frozen=True, slots=True)
class Sum:
    """`self.total += added`: an accumulator `made` on `device`, and what is added to it."""

    made: ast.Call
    added: ast.expr
    device: str


def sums_across_devices(program: Program) -> Iterator[Sum]:
    """Tensors of an output that are added to accumulators on the metric's device."""
    classes = program.classes
    for owner in program.names.classes:
        if any(base.startswith("ignite.metrics") for base in classes.named_bases(owner)):
            made = _accumulators(program, owner)
            for method in owner.body:
                if isinstance(method, scope.Function) and method.name in _UPDATES and made:
                    yield from _added(program, method, made)


def _accumulators(program: Program, owner: ast.ClassDef) -> dict[str, ast.Call]:
    """`self.x = torch.tensor(0.0, device=self._device)`, by `self.x`."""
    found: dict[str, ast.Call] = {}
    for node in ast.walk(owner):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
            continue
        devices = [dotted(one.value) for one in node.value.keywords if one.arg == "device"]
        if devices == ["self._device"] and program.names.qualified(node.value.func) in FACTORIES:
            found.update({name: node.value for name in map(dotted, node.targets) if name})
    return found


def _added(program: Program, method: scope.Function, made: dict[str, ast.Call]) -> Iterator[Sum]:
    outputs = _outputs(method)
    for node in ast.walk(method):
        target = dotted(node.target) if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) else None
        if target not in made or not isinstance(node, ast.AugAssign):
            continue
        if _is_tensor_of(program, node.value, outputs):
            yield Sum(made[target], node.value, "self._device")


def _outputs(method: scope.Function) -> set[str]:
    """The parameters of an update, and names that are assigned from nothing but them, where they are."""
    known = set(scope.parameters(method)[1:])
    for node in ast.walk(method):
        if isinstance(node, ast.Assign):
            names = {name for target in node.targets for name in scope.stored(target)}
            if set(scope.reads(node.value)) <= known and not _leaves(node.value):
                known |= names
            else:
                known -= names
    return known


def _is_tensor_of(program: Program, node: ast.expr, outputs: set[str]) -> bool:
    """Whether an expression is surely a tensor that lives where the output does."""
    if not isinstance(node, ast.Call) or _leaves(node):
        return False
    name = program.names.qualified(node.func) or ""
    reduces = isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS
    read = set(scope.reads(node)) - {"torch"}
    return bool(read) and read <= outputs and (reduces or name.rpartition(".")[2] in _REDUCTIONS)


def _leaves(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _LEAVING for one in ast.walk(node))
