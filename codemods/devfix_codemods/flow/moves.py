"""Moves: what `.to`, `.cuda` and `.cpu` do to tensors and modules, and averages in place."""

import ast

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.expressions import Expressions, device_constant, is_carried
from devfix_codemods.flow.facts import Move
from devfix_codemods.flow.machine import Arguments
from devfix_codemods.flow.places import HOST, UNKNOWN, Device, Place, Symbol, choice
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.values import (
    PLACELESS,
    Birth,
    Kind,
    Object,
    Origin,
    Value,
)


class Moves(Expressions):
    """Evaluates the methods that move, and those that average in place."""

    def device_of(self, node: ast.expr, value: Value, state: State) -> Place:
        """The place that an expression names where a device is wanted; Unknown for anything else, such as a dtype."""
        if value.denotes != UNKNOWN:
            if (text := dotted(node)) is not None and "." in text:
                state.devices[text] = value.denotes
            return value.denotes
        if value.kind is Kind.TENSOR:
            return value.place
        if value.kind is Kind.STRING and isinstance(value.const, str):
            return device_constant(value.const)
        text = self.chosen_by_name(node, value)
        if text is None:
            return UNKNOWN
        identity = value.token or value.qualified or f"name#{text}"
        place = Symbol(f"{identity}#{text}", chosen=True)
        if value.kind is Kind.API:
            self.imported_devices[text] = place
        elif "." in text:
            state.devices[text] = place
        return place

    def _move(self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State) -> Value:
        target = self._target(node, function, arguments, state)
        if target is None:
            return replace(base, const=None)
        used = not isinstance(self.names.parent(node), ast.Expr)
        before = state.place_of(base)
        self.record_move(Move(node, function.value, base, before, target, function.attr, used, self.frame.context))
        if self._is_object(base, function):
            return self._move_object(node, replace(base, kind=Kind.MODULE), target, state)
        if node in self.undone:
            return self.left_on_host(node, state)
        if base.kind is Kind.UNKNOWN and base.token in state.objects:
            return self._move_object(node, base, target, state)
        if used and isinstance(function.value, ast.Name):
            state.lent[function.value.id] = state.lent.get(function.value.id, frozenset()) | {target}
        if base.batch is not None:
            state.moved[base.batch.token] = state.moved.get(base.batch.token, frozenset()) | {target}
        if base.kind in PLACELESS and base.kind is not Kind.ARRAY:
            return base
        token = base.token if base.kind is Kind.UNKNOWN and base.batch is None else None
        kept = None if is_carried(base) else base.qualified  # a moved parameter is a plain tensor
        origin = Origin(Birth.MOVE, node)
        moved = replace(base, place=target, origin=origin, token=token, qualified=kept, sources=(), of_host=False)
        if base.items is not None:
            moved = replace(moved, items=tuple((key, _relocated(one, target, node)) for key, one in base.items))
        if base.kind is Kind.ENCODING and isinstance(function.value, ast.Name):
            state.env[function.value.id] = moved  # encodings move in place, and return themselves
        return moved

    def _is_object(self, base: Value, function: ast.Attribute) -> bool:
        if base.kind is Kind.MODULE:
            return True
        text = dotted(function.value)
        return base.kind is Kind.UNKNOWN and base.token is not None and text in self.module_evidence()

    def _move_object(self, node: ast.Call, base: Value, target: Place, state: State) -> Value:
        token = base.token or self.new_token(node)
        state.objects.setdefault(token, Object())
        origin = Origin(Birth.MOVE, node)
        state.relocate(token, target, moved=origin)
        return replace(base, place=target, token=token)

    def _target(self, node: ast.Call, function: ast.Attribute, arguments: Arguments, state: State) -> Place | None:
        """Where a move goes; None where the call moves nothing (`.to(dtype)`)."""
        if function.attr == "cpu":
            return HOST
        if function.attr == "cuda":
            target = self._cuda_target(arguments, state)
            return choice(target, HOST) if self.frame.guards and isinstance(target, Device) else target
        found = arguments.keywords.get("device") or (arguments.positional[0] if arguments.positional else None)
        if found is None:
            return None
        expression, value = found
        if value.kind is Kind.DTYPE or (value.kind is Kind.API and (value.qualified or "").startswith("torch.")):
            return None
        place = self.device_of(expression, value, state)
        if self.frame.guards and isinstance(place, Device):
            return choice(place, HOST)
        named = expression.func if isinstance(expression, ast.Call) else expression
        if place == UNKNOWN and "dtype" in (dotted(named) or "").lower():
            return None  # `.to(float_dtype)`, `.to(get_dtype())`
        return place

    def _cuda_target(self, arguments: Arguments, state: State) -> Place:
        found = arguments.keywords.get("device") or (arguments.positional[0] if arguments.positional else None)
        if found is None:
            return Device("cuda")
        expression, value = found
        if isinstance(value.const, int):
            return Device(f"cuda:{value.const}")
        place = self.device_of(expression, value, state)
        return place if place != UNKNOWN else Symbol(f"cuda#{ast.unparse(expression)}", chosen=True)

    def _is_update(self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments) -> bool:
        """Whether a call is `shadow.lerp_(live, …)`, or one of its relatives."""
        name = function.attr
        if name == "add_":
            if self._scaled_before(node, function) is None:
                return False
        elif name not in {"lerp_", "copy_"}:
            return False
        live = arguments.get(0, "end" if name == "lerp_" else "other") or arguments.get(1, "other")
        return live is not None and base.kind in {Kind.TENSOR, Kind.UNKNOWN}

    def _scaled_before(self, node: ast.Call, function: ast.Attribute) -> ast.expr | None:
        """The shadow of `shadow.mul_(…).add_(…)`, or of `shadow.mul_(…)` on the line before `shadow.add_(…)`."""
        inner = function.value
        if isinstance(inner, ast.Call):
            return inner.func.value if isinstance(inner.func, ast.Attribute) and inner.func.attr == "mul_" else None
        before = self._statement_before(self.names.statement(node))
        call = before.value if isinstance(before, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "mul_":
            return None
        return inner if ast.dump(call.func.value) == ast.dump(inner) else None

    def _statement_before(self, statement: ast.stmt) -> ast.stmt | None:
        body = getattr(self.names.parent(statement), "body", None)
        if not isinstance(body, list) or statement not in body or body[0] is statement:
            return None
        before: ast.stmt = body[body.index(statement) - 1]
        return before


def _relocated(value: Value, place: Place, node: ast.AST) -> Value:
    return replace(value, place=place, origin=Origin(Birth.MOVE, node), sources=())


def place_of_type(arguments: Arguments) -> Place | None:
    """Where `x.type(t)` puts a tensor, or a module: legacy types and their names say it; None for dtypes."""
    first = arguments.first
    text = first.const if first.kind is Kind.STRING else first.qualified if first.kind is Kind.API else None
    if not isinstance(text, str):
        return None if first.kind is Kind.DTYPE or not arguments.positional else UNKNOWN
    if not text.endswith("Tensor"):
        return None
    return Device("cuda") if text.startswith("torch.cuda.") else HOST
