"""Objects that the function around has told to stay on the host: `Trainer(model, device="cpu")`."""

import ast

from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._host_literals import is_host

_WORDS = frozenset({"device", "map_location", "device_map", "torch_device"})


def is_built_on_host(program: Program, node: ast.expr) -> bool:
    """Whether `node` is a part of what a name holds that is bound once, here, by a call with `device="cpu"`."""
    name = (dotted(node) or "").partition(".")[0]
    bindings = program.bindings
    owner = bindings.owner(name, node) if name and name != "self" else None
    found = bindings.of(owner, name) if owner is not None else []
    if len(found) != 1 or owner is not bindings.scope(node):
        return False
    value = found[0].value
    return isinstance(value, ast.Call) and any(
        one.arg in _WORDS and is_host(program, one.value) for one in value.keywords
    )
