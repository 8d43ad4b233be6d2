"""The APIs of mixed precision by name, the old and the new, and their calls as they are written."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from devfix_codemods.edits.operations import Argument
from devfix_codemods.project.names import Names

AUTOCAST = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
GRAD_SCALER = frozenset({"torch.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"})
CUSTOM = frozenset({"torch.amp.custom_fwd", "torch.amp.custom_bwd"})
AVAILABLE = frozenset({"torch.amp.is_autocast_available", "torch.amp.autocast_mode.is_autocast_available"})
CURRENT = {"autocast": AUTOCAST, "GradScaler": GRAD_SCALER, "custom_fwd": CUSTOM, "custom_bwd": CUSTOM}

_OLD = re.compile(
    r"torch\.(?P<device>cuda|cpu)\.amp"
    r"\.(?:(?:autocast_mode\.)?(?P<function>autocast|custom_fwd|custom_bwd)|(?:grad_scaler\.)?(?P<scaler>GradScaler))"
)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Written = ast.expr | ast.keyword


@dataclass(frozen=True, slots=True)
class Old:
    """A name in `torch.cuda.amp` or `torch.cpu.amp` that has its heir in `torch.amp`: `autocast` of `cuda`."""

    symbol: str
    device: str


def old(qualified: str) -> Old | None:
    """The deprecated name that `qualified` spells, or None."""
    found = _OLD.fullmatch(qualified)
    return Old(found["function"] or found["scaler"], found["device"]) if found else None


def called(names: Names, reference: ast.expr) -> ast.Call | None:
    """The call of which `reference` is the function."""
    parent = names.parent(reference)
    return parent if isinstance(parent, ast.Call) and parent.func is reference else None


def decorates(names: Names, reference: ast.expr) -> bool:
    """Whether `reference` is a decorator by itself, without a call."""
    parent = names.parent(reference)
    return isinstance(parent, (_Function, ast.ClassDef)) and reference in parent.decorator_list


def written(call: ast.Call) -> list[Written]:
    """The arguments in the order of the source, which is how `operations.Argument` counts them."""
    both: list[Written] = [*call.args, *call.keywords]
    return sorted(both, key=lambda one: (one.lineno, one.col_offset))


def kept(call: ast.Call, names: Sequence[str] = ()) -> list[Argument]:
    """The arguments as they are, the first positional ones with `names` as their keywords, no star among them."""
    keywords = dict(zip(call.args, names))
    return [
        Argument(index, one.arg if isinstance(one, ast.keyword) else keywords.get(one))
        for index, one in enumerate(written(call))
    ]


def has_star(call: ast.Call) -> bool:
    """Whether the call has `*args`, so that no position is certain."""
    return any(isinstance(one, ast.Starred) for one in call.args)


def has_double_star(call: ast.Call) -> bool:
    """Whether the call has `**options`, so that any keyword may be present."""
    return any(one.arg is None for one in call.keywords)


def keyword(call: ast.Call, *names: str) -> ast.keyword | None:
    """The first keyword argument with one of `names`."""
    return next((one for one in call.keywords if one.arg in names), None)


def device_argument(call: ast.Call) -> ast.expr | None:
    """What a call of a current amp API is given as its device: first, or by a keyword of either name.

    Not of `custom_fwd` and `custom_bwd`, which take a function first.
    """
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    found = keyword(call, "device_type", "device")
    return found.value if found else None


def literal(node: ast.expr | None) -> str | None:
    """The text of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def is_device_type(node: ast.expr) -> bool:
    """Whether an argument is a type of devices and no flag: `"cpu"`, `x.device.type`, `device_type`."""
    is_name = isinstance(node, ast.Name | ast.Attribute)
    return literal(node) is not None or (is_name and ast.unparse(node).endswith(("device.type", "device_type")))


def root(node: ast.expr) -> ast.Name | None:
    """The name at the left end of a dotted expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None
