"""`DataParallel` and `DistributedDataParallel` around a model: where the model is when it is wrapped."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._called import named_class
from devfix_codemods.rules._module_values import ModuleValues, Sort

_WRAPPERS = ("torch.nn.DataParallel", "torch.nn.parallel.")
_MOVES = frozenset({"to", "cuda"})
_KEEPING = ("copy.copy", "copy.deepcopy", "torch.compile", "torch.jit.script", "torch.nn.SyncBatchNorm.convert_sync_")
"""Functions that give back a module which is where the one is that they get."""
_DEVICE = re.compile(r"(?:^|[._])(?:device|(?:local_)?rank|gpu|cuda)(?:_id)?$")
_HARMLESS = frozenset({"print", "len", "isinstance", "repr", "str", "type", "id", "sum"})


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A wrapping call: the model, the `device_ids`, and the move of the result (`DDP(…).to(device)`)."""

    call: ast.Call
    is_distributed: bool
    model: ast.expr
    device_ids: ast.expr | None
    moved: ast.Call | None

    @property
    def name(self) -> str:
        """`DataParallel` or `DistributedDataParallel`."""
        return "DistributedDataParallel" if self.is_distributed else "DataParallel"

    @property
    def only_device(self) -> ast.expr | None:
        """The element of `device_ids` that is spelled out as a list of one."""
        ids = self.device_ids
        return ids.elts[0] if isinstance(ids, (ast.List, ast.Tuple)) and len(ids.elts) == 1 else None


def wrappers(program: Program) -> Iterator[Wrapper]:
    """The wrapping calls of a program."""
    for call in program.names.calls:
        name = program.names.qualified(call.func) or ""
        last = name.rpartition(".")[2]
        if not name.startswith(_WRAPPERS) or last not in {"DataParallel", "DistributedDataParallel"}:
            continue
        given = {one.arg: one.value for one in call.keywords}
        model = call.args[0] if call.args else given.get("module")
        ids = call.args[1] if len(call.args) > 1 else given.get("device_ids")
        if model is not None and not isinstance(model, ast.Starred) and None not in given:
            yield Wrapper(call, last.startswith("Dist"), model, ids, _moved(program, call))


def device_of_move(call: ast.Call) -> ast.expr | None:
    """`device` of `.to(device)` and `.cuda(device)`, where that is all it says."""
    values = [*call.args, *(one.value for one in call.keywords if one.arg == "device")]
    return values[0] if len(values) == 1 and len(call.args) + len(call.keywords) == 1 else None


def _moved(program: Program, call: ast.Call) -> ast.Call | None:
    """The move that is called on the wrapper at once."""
    attribute = program.names.parent(call)
    outer = program.names.parent(attribute) if isinstance(attribute, ast.Attribute) else None
    is_move = isinstance(attribute, ast.Attribute) and attribute.attr in _MOVES
    return outer if is_move and isinstance(outer, ast.Call) and outer.func is attribute else None


class Models:
    """Where models come from, by the statements of the function that uses them."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._values = ModuleValues(program)

    def is_on_host(self, model: ast.expr, at: ast.AST) -> bool:
        """Whether a model is surely built in the function of `at`, and not moved before it."""
        if isinstance(model, ast.Call):
            return self._builds(model)
        name = dotted(model)
        built = self._built(name, at) if name is not None else None
        if name is None or built is None:
            return False
        first = self._program.names.statement(built).lineno
        return not any(one.lineno >= first and one is not built for one in self.moves(name, at))

    def moves(self, name: str, at: ast.AST) -> Iterator[ast.Call]:
        """Calls in the same function before `at` that move the model, or that may."""
        for node in self._before(at):
            if not isinstance(node, ast.Call):
                continue
            if (
                isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES and self._is_about(node.func, name)
            ) or (name.startswith("self.") and self._moves_inside(node, name)):
                yield node
            elif any(dotted(one) == name for one in (*node.args, *(key.value for key in node.keywords))):
                known = self._program.names.qualified(node.func) or dotted(node.func) or ""
                if known not in _HARMLESS and not known.startswith("torch.nn."):
                    yield node

    def _is_about(self, function: ast.Attribute, name: str) -> bool:
        """`name.to(…)`, or `name = Net(…).to(…)`."""
        if dotted(function.value) == name:
            return True
        statement = self._program.names.statement(function)
        return isinstance(statement, ast.Assign) and [dotted(one) for one in statement.targets] == [name]

    def _moves_inside(self, call: ast.Call, name: str) -> bool:
        """Whether a call leads to a method of the same class that moves its attribute `name`."""
        owner, called = scope.class_around(self._program, call), dotted(call.func) or ""
        if owner is None or not called.startswith("self."):
            return False
        method = self._program.unit.classes.methods(owner).get(called.removeprefix("self."))
        return method is not None and any(
            isinstance(one, ast.Attribute) and one.attr in _MOVES and dotted(one.value) == name
            for one in ast.walk(method)
        )

    def _built(self, name: str, at: ast.AST) -> ast.Call | None:
        """The last call before `at` that built the model, if one did."""
        found: ast.Call | None = None
        for node in self._before(at):
            if isinstance(node, ast.Assign) and name in {dotted(one) for one in node.targets}:
                value = node.value
                wraps = isinstance(value, ast.Call) and any(dotted(one) == name for one in value.args)
                if not wraps:
                    found = value if isinstance(value, ast.Call) and self._builds(value) else None
        return found

    def _builds(self, call: ast.Call) -> bool:
        """Whether a call builds a module on the host: its class is known, or named like one."""
        sort = self._values.sort(call)
        if isinstance(call.func, ast.Attribute) and call.func.attr in _MOVES:
            return False
        if call.args and (self._program.names.qualified(call.func) or "").startswith(_KEEPING):
            return self.is_on_host(call.args[0], call)
        if sort in {Sort.MODULE, Sort.LIKELY}:
            return not self._places_itself(call)
        name = (dotted(call.func) or "").rpartition(".")[2]
        return sort is Sort.UNKNOWN and name[:1].isupper() and not name.isupper()

    def _places_itself(self, call: ast.Call) -> bool:
        """Whether a class moves anything, or the call is told a device, maybe by its name alone."""
        if any(one.arg in {"device", "device_map", None} for one in call.keywords):
            return True
        own = [one for one in self._program.names.classes if one.name == dotted(call.func)]
        if not own and (named := named_class(self._program, call.func)) is not None:
            own = [named]
        family = [one for each in own for one in (each, *self._program.classes.ancestors(each))]
        if not own and any(_DEVICE.search(dotted(one) or "") for one in scope.given_to(call)):
            return True
        return any(
            isinstance(one, ast.Attribute) and one.attr in {*_MOVES, "device"} for each in family for one in walk(each)
        )

    def _before(self, at: ast.AST) -> Iterator[ast.AST]:
        """The nodes of the same function, or of the module, that stand before the statement of `at`."""
        function = scope.function_around(self._program, at)
        last = self._program.names.statement(at).lineno
        for node in ast.walk(self._program.tree if function is None else function):
            if getattr(node, "lineno", last) >= last:
                continue
            if function is not None or scope.function_around(self._program, node) is None:
                yield node
