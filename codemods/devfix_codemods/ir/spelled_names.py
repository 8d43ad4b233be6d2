"""Attributes by names that a program makes: `getattr(self, "fc")`, and `setattr(self, f"conv{i}", layer)`."""

import ast
import re

from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import Node, Op

ANY = "{}"
"""What stands in a name for a part that is not known: all the names that differ there alone are one attribute."""


def read_by_name(callee: Node, given: list[Node]) -> tuple[Node, str] | None:
    """The object and the attribute of `getattr(self, "fc")`; what packages have is looked up otherwise."""
    if callee.extra != "builtins.getattr" or len(given) != 2 or name(given[0]) is not None:
        return None
    found = spelled(given[1])
    return (given[0], found) if found is not None else None


def stored_by_name(call: Node) -> tuple[Node, str, Node] | None:
    """The object, the attribute and the value of `setattr(self, "fc", value)` and of `self.add_module("fc", value)`."""
    callee, given = call.args[0], call.args[1:]
    if callee.op is Op.ATTR and callee.extra in _ADDING and len(given) == 2:
        given = (callee.args[0], *given)
    elif callee.extra != "builtins.setattr" or len(given) != 3:
        return None
    found = spelled(given[1]) if not any(call.extras) else None
    return (given[0], found, given[2]) if found is not None else None


def spelled(node: Node) -> str | None:
    """The name that a text is, `{}` for each part of it that is not known; None where no part is."""
    found = _text(node)
    return found if found is not None and found.replace(ANY, "_").isidentifier() and found.strip("{}_") else None


def _text(node: Node) -> str | None:
    match node.syntax:
        case ast.JoinedStr(values=parts):
            return "".join(str(one.value) if isinstance(one, ast.Constant) else ANY for one in parts)
    if node.op is Op.CONST:
        return node.extra if isinstance(node.extra, str) else None
    if node.op is Op.OPERATION and node.extra == "Add":
        both = [_text(one) for one in node.args]
        return None if both == [None, None] else "".join(ANY if one is None else one for one in both)
    if node.op is Op.OPERATION and node.extra == "Mod" and node.args[0].op is Op.CONST:
        return re.sub(r"%\d*[ds]", ANY, str(node.args[0].extra))
    formatted = node.args[0] if node.op is Op.CALL and node.args[0].extra == "format" else None
    if formatted is not None and formatted.op is Op.ATTR and formatted.args[0].op is Op.CONST:
        return re.sub(r"\{[^{}]*\}", ANY, str(formatted.args[0].extra))
    return None


_ADDING = frozenset({"add_module", "register_module"})
