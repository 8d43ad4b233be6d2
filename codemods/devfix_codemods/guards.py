"""Assertions that a model is where it should be, once it is set up: `devfix rewrite --add-guards`.

A guard stands behind the last statement that moves, wraps or changes a model before the loop that uses it:

    model.to(device)
    assert next(model.parameters()).device.type == device.type, "model is not on device"

It holds in every correct program: types are compared, because `torch.device("cuda") != torch.device("cuda:0")`. So a
guard is written only where the flow knows the place, the model surely has parameters, and nothing between the move and
the loop may take them elsewhere. It is no rule: nothing is wrong where a guard is missing, and only who asks for guards
gets them. It has a code all the same, so that reports can tell it from repairs and comments can silence it.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Move
from devfix_codemods.flow.places import HOST, Choice, Device, Symbol
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._moves import insertable

CODE, NAME = "DVF002", "device-guard"
_RANK = (1 << 30,)
"""Behind whatever else a fix puts at the same place."""

_WRAPPERS = frozenset({"torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.compile"})
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
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def missing(program: Program) -> Iterator[Finding]:
    """A finding for each model that is moved and then used in a loop, and that no assertion guards."""
    for set_up in _set_ups(program):
        yield _finding(program, set_up)


@dataclass(frozen=True, slots=True)
class _SetUp:
    """A model that is ready: `last` is what was done to it, `use` the loop that needs it."""

    name: str
    device: "_DeviceType"
    last: ast.stmt


@dataclass(frozen=True, slots=True)
class _DeviceType:
    """The expression for the type of a device, and the name of the device for people."""

    code: str
    device: str


def _finding(program: Program, found: _SetUp) -> Finding:
    span, name, device = program.source.span(found.last), found.name, found.device.device
    condition = f"next({name}.parameters()).device.type == {found.device.code}"
    insert = InsertStatement(span, "after", f'assert {condition}, "{name} is not on {device}"', rank=_RANK)
    fix = Fix(Safety.SAFE, f"Assert that `{name}` is on `{device}`", (insert,))
    return Finding(CODE, NAME, f"nothing asserts that `{name}` is on `{device}` before it is used", span, fix=fix)


# Where models are set up


def _set_ups(program: Program) -> Iterator[_SetUp]:
    moves = dict(_module_moves(program))
    blocks: dict[int, list[ast.stmt]] = {}
    for statement in moves:
        block = scope.block_of(program, statement)
        blocks[id(block[0])] = block
    for block in blocks.values():
        for name in dict.fromkeys(moves[one][0] for one in block if one in moves):
            mine = {one: move for one, (owner, move) in moves.items() if owner == name}
            yield from _Block(program, block, name, mine).set_up()


def _module_moves(program: Program) -> Iterator[tuple[ast.stmt, tuple[str, Move]]]:
    """The statements that move a model by its name, to a place that the program chose for an accelerator."""
    left_alone = {one.node for one in program.facts.moves if not insertable(one.context) or one.context.forward}
    for move in program.facts.moves:
        statement = program.names.statement(move.node)
        name = _moved_name(statement, move)
        if name is not None and move.node not in left_alone:
            yield statement, (name, move)


def _moved_name(statement: ast.stmt, move: Move) -> str | None:
    """`model` of `model.to(device)`, `model = model.to(device)` and `model = Net().to(device)`."""
    match statement:
        case ast.Expr(value=value) if value is move.node and isinstance(move.receiver, ast.Name):
            return move.receiver.id
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is move.node:
            return name
    return None


class _Block:
    """One block of statements, seen with one model in mind."""

    def __init__(self, program: Program, block: list[ast.stmt], name: str, moves: dict[ast.stmt, Move]) -> None:
        self._program = program
        self._block = block
        self._name = name
        self._moves = moves

    def set_up(self) -> Iterator[_SetUp]:
        """What stands between the last move and the first use, where that is sure to leave the model in place."""
        move: Move | None = None
        last: ast.stmt | None = None
        for statement in self._block:
            if statement in self._moves:
                move, last = self._moves[statement], statement
            elif move is None or last is None:
                continue
            elif self._guards(statement):
                move = None
            elif self._changes(statement):
                last = statement
            elif self._uses(statement):
                device = self._device(move, last)
                if device is not None and self._has_parameters(move):
                    yield _SetUp(self._name, device, last)
                move = None
            elif self._disturbs(statement):
                move = None

    def _guards(self, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.Assert) and any(self._is_model(one) for one in ast.walk(statement.test))

    def _changes(self, statement: ast.stmt) -> bool:
        """`model.head = …`, or a known wrapper around the model, maybe on a condition."""
        match statement:
            case ast.If(body=[inner], orelse=[]):
                return self._changes(inner)
            case ast.Assign(targets=[ast.Attribute() as target], value=ast.Call() as call):
                return (dotted(target) or "").startswith(f"{self._name}.") and self._is_module_api(call)
            case ast.Assign(targets=[ast.Name(id=self._name)], value=ast.Call(func=function, args=[first, *_])):
                return self._is_model(first) and self._program.names.qualified(function) in _WRAPPERS
        return False

    def _is_module_api(self, call: ast.Call) -> bool:
        return (self._program.names.qualified(call.func) or "").startswith("torch.nn.")

    def _uses(self, statement: ast.stmt) -> bool:
        """Whether the statement is a loop that runs the model, or hands it to a function of this file that has one."""
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return False
        if any(self._runs(call) for loop in ast.walk(statement) if isinstance(loop, _LOOPS) for call in _calls(loop)):
            return True
        return isinstance(statement, (ast.Expr, ast.Assign)) and any(self._trains(call) for call in _calls(statement))

    def _runs(self, call: ast.Call) -> bool:
        return self._is_model(call.func) or self._is_given(call)

    def _trains(self, call: ast.Call) -> bool:
        """Whether the call gives the model to a function of this file that runs it in a loop."""
        found = self._function_of(call)
        if found is None:
            return False
        function, parameter = found
        return any(
            isinstance(node, ast.Name) and node.id == parameter
            for loop in ast.walk(function)
            if isinstance(loop, _LOOPS)
            for call in _calls(loop)
            for node in (call.func, *call.args, *(one.value for one in call.keywords))
        )

    def _function_of(self, call: ast.Call) -> tuple[scope.Function, str] | None:
        """The function of this file that the call gives the model to, and the parameter that gets it."""
        if not isinstance(call.func, ast.Name):
            return None
        defined = (one for one in self._program.tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
        function = next((one for one in defined if one.name == call.func.id), None)
        if function is None:
            return None
        names = scope.parameters(function)
        given = [(name, value) for name, value in zip(names, call.args)]
        given += [(one.arg, one.value) for one in call.keywords if one.arg is not None]
        return next(((function, name) for name, value in given if self._is_model(value)), None)

    # Whether the model may have gone elsewhere

    def _disturbs(self, statement: ast.stmt) -> bool:
        return any(self._is_disturbance(node) for node in ast.walk(statement))

    def _is_disturbance(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Name) and node.id == self._name:
            return not isinstance(node.ctx, ast.Load)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and self._is_model(_owner(node.func)):
            return node.func.attr not in _HARMLESS_METHODS
        return self._is_given(node)

    def _is_given(self, call: ast.Call) -> bool:
        """Whether the call gets the model and may do more with it than look at it."""
        arguments = [*call.args, *(one.value for one in call.keywords)]
        return any(map(self._is_model, arguments)) and not self._is_harmless(call)

    def _is_harmless(self, call: ast.Call) -> bool:
        last = (dotted(call.func) or "").rpartition(".")[2]
        return last in _HARMLESS_CALLS or any(word in last.lower() for word in _HARMLESS_WORDS)

    # What is known of it

    def _device(self, move: Move, last: ast.stmt) -> _DeviceType | None:
        """The type of the device that the move names, in its own words while they still hold."""
        if move.target == HOST or not isinstance(move.target, (Device, Choice, Symbol)):
            return None
        text = _device_text(move.node)
        if text is not None and self._holds(text, move, last):
            return self._type_of(text, move)
        return _DeviceType(f'"{move.target.type}"', move.target.type) if isinstance(move.target, Device) else None

    def _holds(self, text: str, move: Move, last: ast.stmt) -> bool:
        """Whether nothing between the move and `last` gives the name another device."""
        start = self._block.index(self._program.names.statement(move.node))
        between = self._block[start + 1 : self._block.index(last) + 1]
        stores = (
            one for statement in between for one in ast.walk(statement) if isinstance(one, ast.Name | ast.Attribute)
        )
        roots = {text, text.partition(".")[0]}
        return not any(dotted(one) in roots and not isinstance(one.ctx, ast.Load) for one in stores)

    def _type_of(self, text: str, move: Move) -> _DeviceType | None:
        """`device.type`, or `torch.device(device).type` of what may be a string."""
        known = (one for names in self._program.facts.devices_at.values() for one in names if one.text == text)
        if any(one.is_torch_device and one.place == move.target for one in known):
            return _DeviceType(f"{text}.type", text)
        imports = (one for one in self._program.tree.body if isinstance(one, ast.Import))
        at_hand = any(alias.name == "torch" and alias.asname is None for one in imports for alias in one.names)
        return _DeviceType(f"torch.device({text}).type", text) if at_hand else None

    def _has_parameters(self, move: Move) -> bool:
        """Whether an optimizer gets them, or the model is built of layers that have some."""
        origin = move.value.origin
        return self._feeds_optimizer(move) or (
            origin is not None and isinstance(origin.node, ast.Call) and self._is_built_of_layers(origin.node)
        )

    def _feeds_optimizer(self, move: Move) -> bool:
        around = move.context.function or self._program.tree
        return any(
            "optim" in (self._program.names.qualified(call.func) or dotted(call.func) or "").lower()
            and any(dotted(inner.func) == f"{self._name}.parameters" for one in call.args[:1] for inner in _calls(one))
            for call in _calls(around)
        )

    def _is_built_of_layers(self, call: ast.Call) -> bool:
        if any(self._is_layer(one) for one in _calls(call)):
            return True
        classes = (one for one in self._program.tree.body if isinstance(one, ast.ClassDef))
        owner = next((one for one in classes if one.name == dotted(call.func)), None)
        return owner is not None and any(self._is_layer(one) for one in _calls(owner))

    def _is_layer(self, call: ast.Call) -> bool:
        return (self._program.names.qualified(call.func) or "").startswith(_LAYERS)

    def _is_model(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == self._name


def _device_text(call: ast.Call) -> str | None:
    """The name that a move is given, `args.device`; None where it is given an expression."""
    given = next((one.value for one in call.keywords if one.arg == "device"), call.args[0] if call.args else None)
    return None if given is None else dotted(given)


def _owner(node: ast.expr) -> ast.expr:
    """`model` of `model.layers[0].to`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _calls(node: ast.AST) -> Iterable[ast.Call]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Call))


RULE = Rule(CODE, NAME, ((b".to(",), (b".cuda(",)), missing, __doc__)
