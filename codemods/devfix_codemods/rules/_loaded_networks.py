"""Checkpoints that hold a whole network, which stays where it is loaded, and devices that are no place for it."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted

_NETWORK = re.compile(
    r"(?i)(?:.*_)?(?:model|net|network|encoder|decoder|generator|discriminator|critic|actor|policy|backbone|classifier)"
)
_FOLLOWED = frozenset({"to", "cuda", "cpu", "items", "keys", "values", "get"})


def keeps_network(program: Program, call: ast.Call) -> bool:
    """Whether an entry of what is loaded is a network that is given out, or kept, as it is: `net = checkpoint["net"]`.

    Not where the code moves it, or takes it for a mapping.
    """
    around = scope.function_around(program, call) or program.tree
    owner = scope.class_around(program, call)
    for name in _networks(program, call, around):
        kept = name.startswith("self.") and owner is not None
        where = owner if kept and owner is not None else around
        uses = [one for one in ast.walk(where) if isinstance(one, (ast.Name, ast.Attribute)) and dotted(one) == name]
        reads = [one for one in uses if isinstance(one.ctx, ast.Load)]
        if any(_is_followed(program, one) for one in reads):
            continue
        if kept or any(_goes_out(program, one) for one in reads):
            return True
    return False


def _networks(program: Program, call: ast.Call, around: ast.AST) -> Iterator[str]:
    """The names that get an entry which is called a network, as they are."""
    statement = program.names.statement(call)
    loaded = {one.id for one in getattr(statement, "targets", []) if isinstance(one, ast.Name)}
    for one in ast.walk(around):
        match one:
            case ast.Assign(
                targets=[ast.Name() | ast.Attribute() as target],
                value=ast.Subscript(value=source, slice=ast.Constant(value=str() as key)),
            ) if source is call or dotted(source) in loaded:
                name = dotted(target)
                if name is not None and _NETWORK.fullmatch(key) and _NETWORK.fullmatch(name.rpartition(".")[2]):
                    yield name


def _is_followed(program: Program, node: ast.expr) -> bool:
    """`net.to(device)`, `other.load_state_dict(net)`, `net["weight"]`."""
    parent = program.names.parent(node)
    match parent:
        case ast.Attribute(attr=name):
            return name in _FOLLOWED
        case ast.Call(func=ast.Attribute(attr="load_state_dict")) | ast.Subscript() | ast.For() | ast.comprehension():
            return True
    return False


def _goes_out(program: Program, node: ast.expr) -> bool:
    """Whether a name is returned, alone or among others, or becomes an attribute."""
    parent = program.names.parent(node)
    if isinstance(parent, ast.Tuple | ast.List | ast.Dict):
        parent = program.names.parent(parent)
    if isinstance(parent, ast.Assign):
        return any(isinstance(one, ast.Attribute) for one in parent.targets)
    return isinstance(parent, ast.Return)


def may_be_meta(program: Program, device: str, at: ast.AST) -> bool:
    """Whether the code around asks if a device is "meta": what is loaded to that has no data."""
    around = scope.class_around(program, at) or scope.function_around(program, at) or program.tree
    return b"meta" in program.source.data and any(
        isinstance(one, ast.Compare)
        and any(isinstance(part, ast.Constant) and part.value == "meta" for part in ast.walk(one))
        and any(isinstance(part, ast.Name | ast.Attribute) and dotted(part) == device for part in ast.walk(one))
        for one in ast.walk(around)
    )
