"""What calls are given, by keyword and otherwise."""

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name

_PLACING = frozenset({"device", "**", "out"})


def keyword(call: Node, word: str) -> Node | None:
    """What a call is given under a keyword."""
    if not isinstance(call.extra, tuple) or word not in call.extra:
        return None
    return call.args[1 + call.extra.index(word)]


def has_device(call: Node) -> bool:
    """Whether a call says on which device its result is."""
    return isinstance(call.extra, tuple) and not _PLACING.isdisjoint(call.extra)


def calls_builtin(node: Node, *called: str) -> bool:
    """Whether a value is the result of one of some builtins, which was given something."""
    if node.op is not Op.CALL or len(node.args) < 2:
        return False
    package, _, last = (name(node.args[0]) or "").partition(".")
    return package == "builtins" and last in called


def reads_key(node: Node) -> bool:
    """`batch.get("mask")`: an item of a mapping, or None."""
    if node.op is not Op.CALL or node.args[0].op is not Op.ATTR or node.args[0].extra != "get":
        return False
    key = node.args[1] if len(node.args) > 1 else None
    return key is not None and key.op is Op.CONST and isinstance(key.extra, str)
