"""What the use of a name in a function says of its kind, read before the function is interpreted.

A parameter called `model` may be anything; one on which `.parameters()` is called is a module. Only uses count, never
the name.
"""

import ast
from collections import defaultdict
from dataclasses import dataclass, field

from devfix_codemods.flow import tables


@dataclass(slots=True)
class Evidence:
    """Dotted names (`model`, `self.net`) by what is done with them in one function, or one class."""

    modules: set[str] = field(default_factory=set)
    tensors: set[str] = field(default_factory=set)
    losses: set[str] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    numpy: set[str] = field(default_factory=set)
    bindings: dict[str, int] = field(default_factory=lambda: defaultdict(int))


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` as text, or None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def gather(root: ast.AST) -> Evidence:
    """The evidence in `root`, nested functions included: they see the same names."""
    found = Evidence()
    for node in ast.walk(root):
        if isinstance(node, ast.Call):
            _call(node, found)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.bindings[node.id] += 1
        elif isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
            found.texts.add(node.value.id)
    return found


def _call(node: ast.Call, found: Evidence) -> None:
    if isinstance(node.func, ast.Attribute):
        _method(node.func, found)
    elif isinstance(node.func, ast.Name) and node.func.id in {"str", "open"}:
        found.texts.update(one.id for one in node.args if isinstance(one, ast.Name))
    if _is_tokenizing(node):
        found.texts.update(one.id for one in node.args if isinstance(one, ast.Name))


def _method(function: ast.Attribute, found: Evidence) -> None:
    receiver = dotted(function.value)
    if receiver is None:
        return
    if function.attr in tables.MODULE_EVIDENCE_METHODS:
        found.modules.add(receiver)
    if function.attr in tables.TENSOR_EVIDENCE_METHODS:
        found.tensors.add(receiver)
    if function.attr == "backward":
        found.losses.add(receiver)
    if function.attr in {"numpy", "__array__"}:
        found.numpy.add(receiver)
    if function.attr in {"lower", "upper", "strip", "startswith", "endswith", "format", "encode", "join"}:
        found.texts.add(receiver)


def _is_tokenizing(node: ast.Call) -> bool:
    """A call that reads its arguments as text: `tokenizer(text)`, `clip.tokenize(text)`."""
    name = dotted(node.func) or ""
    last = name.rpartition(".")[2].lower()
    return "tokeniz" in last or any(keyword.arg == "return_tensors" for keyword in node.keywords)
