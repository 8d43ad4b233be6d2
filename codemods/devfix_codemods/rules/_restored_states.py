"""States of random generators that a program restores: whether one may have been taken to a device on the way."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._whereabouts import Made, Whereabouts, returned_by


def comes_from_checkpoint(program: Program, call: ast.Call) -> bool:
    """An item of what a caller restored, or of what `torch.load` took to a device, that nothing takes to the host."""
    state = call.args[0] if len(call.args) == 1 else None
    if not isinstance(state, ast.Subscript) or not isinstance(state.slice, ast.Constant):
        return False
    function = scope.function_around(program, call)
    root = state.value
    if not isinstance(root, ast.Name) or function is None:
        return False
    text = ast.unparse(state)
    if any(_goes_to_host(one, text) for one in ast.walk(function)):
        return False
    if root.id in scope.parameters(function):
        kept = not _RESTORES.search(function.name) and _is_taken_here(program, state.slice.value)
        on_host = _is_given_on_host(program, function, root.id, state.slice.value)
        return not any(scope.stores(function, root.id)) and not kept and not on_host
    return any(_loads_to_device(program, one, root.id) for one in ast.walk(function))


def _is_taken_here(program: Program, key: object) -> bool:
    """Whether the file itself takes the state that it finds under `key`, and loads nothing."""
    if any(program.names.qualified(one.func) == "torch.load" for one in program.names.calls):
        return False
    return any(_has_state(program, one, key) for one in ast.walk(program.tree))


def _is_given_on_host(program: Program, function: scope.Function, name: str, key: object) -> bool:
    """Whether each known caller restored the states on the host, or took them itself just before."""
    given = arguments(program, function, name)
    return bool(given) and all(
        one is not None and (Whereabouts(where).source(one) is Made.HOST or _is_just_taken(where, one, key))
        for where, one in given
    )


def _is_just_taken(program: Program, node: ast.expr, key: object) -> bool:
    """`state = capture()`, a function of the file whose mapping has the state of the generator under `key`."""
    function = scope.function_around(program, node)
    if function is None or not isinstance(node, ast.Name) or node.id in scope.parameters(function):
        return False
    statements = [program.names.statement(one) for one in scope.stores(function, node.id)]
    values = [getattr(one, "value", None) for one in statements]
    made = [one for one in values if not (isinstance(one, ast.Constant) and one.value is None)]
    return bool(made) and all(_takes_states(program, one, key) for one in made)


def _takes_states(program: Program, value: ast.expr | None, key: object) -> bool:
    called = dotted(value.func) if isinstance(value, ast.Call) else None
    definitions = [one for one in program.tree.body if isinstance(one, scope.Function) and one.name == called]
    returned = [one for each in definitions for one in returned_by(each)]
    return bool(returned) and all(_has_state(program, one, key) for one in returned)


def _has_state(program: Program, node: ast.AST, key: object) -> bool:
    return isinstance(node, ast.Dict) and any(
        isinstance(name, ast.Constant)
        and name.value == key
        and isinstance(value, ast.Call)
        and program.names.qualified(value.func) in _TAKES_STATE
        for name, value in zip(node.keys, node.values)
    )


_RESTORES = re.compile(r"load|resume|restore|setstate")
_TAKES_STATE = frozenset({"torch.get_rng_state", "torch.random.get_rng_state"})


def _goes_to_host(node: ast.AST, text: str) -> bool:
    """`state.cpu()`, `state.to("cpu")`, or a new value of the item."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        return ast.unparse(node) == text
    method = node.func if isinstance(node, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.attr in {"cpu", "to"} and ast.unparse(method.value) == text


def _loads_to_device(program: Program, node: ast.AST, name: str) -> bool:
    """`name = torch.load(…, map_location=device)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call) or name not in scope.stored(node):
        return False
    where = next((one.value for one in node.value.keywords if one.arg == "map_location"), None)
    if program.names.qualified(node.value.func) != "torch.load" or where is None:
        return False
    text = ast.unparse(where).strip("'\"")
    return not text.startswith("cpu") and ("device" in text or "cuda" in text) and "torch.device('cpu')" not in text
