"""Assertions that a model is where it should be, once it is set up: `devfix rewrite --add-guards`.

A guard stands after the last statement that moves, wraps or changes a model before the loop that uses it:

    model.to(device)
    assert next(model.parameters()).device.type == device.type, "model is not on device"

It holds in every correct program: types are compared, because `torch.device("cuda") != torch.device("cuda:0")`. So a
guard is written only where the place is known, the model surely has parameters, and nothing between the move and
the loop may take them elsewhere. It is no rule: nothing is wrong where a guard is missing, and only who asks for guards
gets them. It has a code all the same, so that reports can tell it from repairs and comments can silence it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.calls import bound
from devfix_codemods.placement.places import Where
from devfix_codemods.program import Program
from devfix_codemods.repairs.declared_devices import binds_torch
from devfix_codemods.repairs.points import Point, means_same, rest_of_block
from devfix_codemods.repairs.scope import values_of
from devfix_codemods.rules import Rule

CODE, NAME = "DVF002", "device-guard"
_RANK = (1 << 30,)
"""Behind whatever else a fix puts at the same place."""

_WRAPPERS = ("torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile")
_LAYERS = tuple(
    f"torch.nn.{name}"
    for name in (
        *("Linear", "Bilinear", "Embedding", "Conv", "LSTM", "GRU", "RNN", "Transformer", "MultiheadAttention"),
        *("LayerNorm", "Parameter", "parameter.Parameter"),
    )
)
"""How the qualified names of what has parameters begin."""

_HARMLESS_METHODS = frozenset(
    [
        *("eval", "train", "parameters", "named_parameters", "buffers", "children", "modules", "named_modules"),
        *("state_dict", "load_state_dict", "requires_grad_", "zero_grad", "compile", "apply"),
        *("float", "half", "bfloat16", "double"),
    ]
)
_HARMLESS_CALLS = frozenset(["print", "len", "str", "repr", "type", "id", "isinstance", "hasattr", "getattr", "sum"])
_HARMLESS_WORDS = ("optim", "sched", "summary", "count", "param", "watch", "log", "criterion", "loss")

_DEVICES = ("torch.device", "torch.accelerator.current_accelerator")
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def missing(program: Program) -> Iterator[Finding]:
    """A finding for each model that is moved and then used in a loop, and that no assertion guards."""
    guards = _Guards(program.index)
    for move in guards.moves():
        last = guards.set_up(move)
        device = guards.device(move, last) if last is not None and guards.has_parameters(move) else None
        if last is not None and device is not None:
            yield _finding(program, move.name, last, *device)


def _finding(program: Program, model: str, last: ast.stmt, code: str, device: str) -> Finding:
    span = program.source.span(last)
    assertion = f'assert next({model}.parameters()).device.type == {code}, "{model} is not on {device}"'
    insert = InsertStatement(span, "after", assertion, rank=_RANK)
    fix = Fix(Safety.SAFE, f"Assert that `{model}` is on `{device}`", (insert,))
    return Finding(CODE, NAME, f"nothing asserts that `{model}` is on `{device}` before it is used", span, fix=fix)


@dataclass(frozen=True, slots=True, eq=False)
class _Move:
    """A statement that moves a model by its name: the call, and the model behind it."""

    name: str
    statement: ast.stmt
    call: Node
    value: Node


class _Guards:
    """The moved models of one file, and what is done with them until a loop runs them."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._analysis = index.analysis
        self._births = index.analysis.births

    def moves(self) -> Iterator[_Move]:
        """`model.to(device)`, `model = model.to(device)` and `model = Net().to(device)`, to a chosen accelerator."""
        if self._births.defaults.managed:
            return
        for call in self._index.calls:
            place = self._births.place_given(call) if self._births.is_move(call) else None
            if place is None or place.where is not Where.DEVICE or not place.sure or self._is_left_alone(call):
                continue
            match call.statement:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=model))) as value):
                    behind = next((one for one in self._index.users[call] if one.op is Op.AFTER), call)
                case ast.Assign(targets=[ast.Name(id=model)], value=value):
                    behind = call
                case _:
                    continue
            if value is call.syntax and call.statement is not None:
                yield _Move(model, call.statement, call, behind)

    def _is_left_alone(self, call: Node) -> bool:
        """Whether a framework places what is there, or code of ours would run for each item, or each batch."""
        function = call.function
        is_forward = function.name == "forward" and function.owner in self._analysis.kinds.module_classes
        return is_forward or function.name == "__getitem__" or self._births.imported.is_managed(function.owner)

    def set_up(self, move: _Move) -> ast.stmt | None:
        """The last statement before the first use that does something to the model; None where it may have moved."""
        function, value, last = move.call.function, move.value, move.statement
        for statement in rest_of_block(function, last)[1:]:
            inside = set(ast.walk(statement))
            used = [(part, user) for part, user in self._uses(value) if user.statement in inside]
            behind = function.after.get(statement, {}).get(move.name)
            if isinstance(statement, ast.Assert) and used:
                return None
            if behind is not None and any(called(one, *_WRAPPERS) and one.args[1:2] == (part,) for part, one in used):
                value, last = behind, statement
            elif any(
                one.base is value and one.statement in inside and _makes(one.value, "torch.nn.")
                for one in function.stores
            ):
                last = statement
            elif any(self._runs(statement, *one) for one in used):
                return last
            elif any(_disturbs(*one) for one in used):
                return None
            elif behind is not value:  # `model.half()`, or another one
                if behind is None or behind.op is not Op.AFTER or self._moves(behind.args[1]):
                    return None
                value = behind
        return None

    def _stores(self, value: Node) -> Iterator[Store]:
        return (one for one in value.function.stores if one.base is value and one.is_attribute)

    def _moves(self, call: Node) -> bool:
        """Whether a statement moves something."""
        return any(self._births.is_move(one) for one in call.function.nodes if one.statement is call.statement)

    def _uses(self, value: Node) -> Iterator[tuple[Node, Node]]:
        """What is done with a model, in turns of loops as well, and with its parts."""
        pending = [value]
        for one in pending:  # grows
            for user in self._index.users[one]:
                yield one, user
                in_turn = user.op is Op.PHI and isinstance(user.syntax, _LOOPS)
                if (in_turn or user.op in {Op.ATTR, Op.ITEM}) and user not in pending:
                    pending.append(user)

    def _runs(self, statement: ast.stmt, model: Node, call: Node) -> bool:
        """Whether a loop runs the model, or it is handed to a function of this file that has one."""
        if call.op is not Op.CALL or model.op in {Op.ATTR, Op.ITEM} or isinstance(statement, _DEFINITIONS):
            return False
        if self._is_in_loop(call) and (call.args[0] is model or _is_given(call, model)):
            return True
        function = self._analysis.calls.get(call)
        if function is None or not isinstance(statement, ast.Expr | ast.Assign):
            return False
        given = {parameter for one, parameter in bound(call, function) if one is model}
        return any(
            one.op is Op.CALL and not given.isdisjoint(one.args) and self._is_in_loop(one) for one in function.nodes
        )

    def _is_in_loop(self, node: Node) -> bool:
        around = self._index.ancestors(node.syntax) if node.syntax is not None else ()
        return any(isinstance(one, _LOOPS) for one in takewhile(lambda one: one is not node.function.syntax, around))

    # What is known of it

    def device(self, move: _Move, last: ast.stmt) -> tuple[str, str] | None:
        """The type of the device that the move names, in its own words while they still hold, and the device."""
        syntax, function, place = move.call.syntax, move.call.function, self._births.place_given(move.call)
        assert isinstance(syntax, ast.Call)
        assert place is not None
        given = next((one.value for one in syntax.keywords if one.arg == "device"), next(iter(syntax.args), None))
        point = Point(function.after[last], move.call.guard, move.call)
        if isinstance(given, ast.Name | ast.Attribute) and means_same(self._analysis, given, move.call, point):
            text, values = self._index.text(given), values_of(resolved(place.node)) if place.node is not None else []
            if values and all(called(one, *_DEVICES) for one in values):
                return f"{text}.type", text
            return (f"torch.device({text}).type", text) if binds_torch(self._index.source.tree) else None
        device = place.node
        if device is not None and called(device, "torch.device"):
            device = next(iter(device.args[1:]), device)
        literal = "cuda" if device is None else device.extra if device.op is Op.CONST else None
        literal = literal.partition(":")[0] if isinstance(literal, str) else None
        return (f'"{literal}"', literal) if literal is not None else None

    def has_parameters(self, move: _Move) -> bool:
        """Whether an optimizer gets them, or the model is built of layers that have some."""
        optimizers = (one for one in move.call.function.nodes if self._analysis.kinds.of(one) is Kind.OPTIMIZER)
        if any(self._asks_parameters(part, move.value) for one in optimizers for part in _parts(one)):
            return True
        owner = self._analysis.kinds.class_of(move.value)
        methods = [each for one in owner.lineage() for each in one.methods.values()] if owner is not None else []
        made = [part for one in self._births.roots(move.value) for part in _parts(one)]
        return any(_makes(one, *_LAYERS) for one in (*made, *(node for each in methods for node in each.nodes)))

    def _asks_parameters(self, node: Node, value: Node) -> bool:
        find = self._analysis.kinds.find
        return method(node) == "parameters" and find(node.args[0].args[0]) is find(value)


def _parts(node: Node) -> Iterator[Node]:
    """What is computed by the calls in an expression, the outermost first."""
    pending = [node]
    for one in pending:  # grows
        if one.op in {Op.CALL, Op.SEQUENCE}:
            yield one
            pending += [each for each in one.args[one.op is Op.CALL :] if each not in pending]


def _makes(node: Node, *beginnings: str) -> bool:
    """Whether a value is made by what has a qualified name that begins so."""
    return node.op is Op.CALL and (name(node.args[0]) or "").startswith(beginnings)


def _is_given(call: Node, value: Node) -> bool:
    """Whether a call gets the model, and may do more with it than look at it."""
    last = (name(call.args[0]) or str(call.args[0].extra)).rpartition(".")[2]
    looks = last in _HARMLESS_CALLS or any(word in last.lower() for word in _HARMLESS_WORDS)
    return value in call.args[1:] and not looks


def _disturbs(part: Node, user: Node) -> bool:
    """Whether the model may have gone elsewhere by what is done with it, or with a part of it."""
    if user.op is not Op.CALL:
        return False
    of_part = user.args[0] is part and part.op is Op.ATTR
    return part.extra not in _HARMLESS_METHODS if of_part else part.op is not Op.ATTR and _is_given(user, part)


RULE = Rule(CODE, NAME, ((b".to(",), (b".cuda(",)), missing, __doc__)
