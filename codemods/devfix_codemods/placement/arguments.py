"""What calls are given, by keyword and otherwise, and what parameters are where a call says nothing."""

import ast
from collections.abc import Callable, Iterable

from devfix_codemods.catalogue import canonical, libraries
from devfix_codemods.catalogue.torch import MAP_LOCATION, PARAMETERS
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key, method_name, names, resolved

_PLACING = frozenset({"device", "out"})


def keyword(call: Node, word: str) -> Node | None:
    """What a call is given under a keyword. What is no call is given nothing: the words of a mapping are its keys."""
    if call.op is not Op.CALL or word not in call.extras:
        return None
    return call.args[1 + call.extras.index(word)]


def argument(call: Node, position: int, word: str) -> Node | None:
    """What a call gives a parameter, by position or by keyword; None where that is left open, or a star hides it."""
    words = call.extras
    if "*" not in words[:position] and words[position : position + 1] == (None,):
        return call.args[1 + position]
    return keyword(call, word)


def loaded_to(call: Node) -> Node | None:
    """What tells a call where to load what a file holds; None where that is left to the file."""
    given, callee = keyword(call, "map_location"), call.args[0]
    known = [MAP_LOCATION[one] for one in map(canonical, names(callee)) if one in MAP_LOCATION]
    of_method = libraries.LOADING.get(str(callee.extra)) if callee.op is Op.ATTR else None
    position = next(iter(known), of_method)
    if given is not None or position is None:
        return given
    words = call.extras[: position + 1]
    return call.args[position + 1] if len(words) > position and not any(words) else None


def has_device(call: Node) -> bool:
    """Whether a call says on which device its result is; `device=None` does not."""
    given = zip(call.extras, call.args[1:])
    return any(
        (word in _PLACING and not is_none(one)) or (word == "**" and not _leaves_place(resolved(one)))
        for word, one in given
    )


def _leaves_place(options: Node) -> bool:
    """Whether a display of keywords says nothing of a device."""
    return (
        options.op is Op.MAPPING
        and isinstance(options.extra, tuple)
        and all(isinstance(one, str) and one not in _PLACING for one in options.extra)
    )


def is_encoding(node: Node) -> bool:
    """`tokenizer(text, return_tensors="pt")`, whatever it is that is called, and `clip.tokenize(text)`."""
    if node.op is Op.CALL and not libraries.ENCODERS.isdisjoint(names(node.args[0])):
        return True
    given = keyword(node, "return_tensors")
    return given is not None and given.op is Op.CONST and given.extra == "pt"


def is_none(node: Node) -> bool:
    """Whether a value is the constant None."""
    return node.op is Op.CONST and node.extra is None


def is_false(node: Node) -> bool:
    """Whether a value is the constant False."""
    return node.op is Op.CONST and node.extra is False


def is_optional(node: Node) -> bool:
    """Whether a value is a parameter that a caller may leave out, so that it is None."""
    default = node.function.defaults.get(str(node.extra)) if node.op is Op.PARAM else None
    return default is not None and is_none(default)


def may_be_none(node: Node, guard: Guard) -> bool:
    """Whether a value may be None where `guard` holds: a parameter that may be left out, or what the function asks."""
    if (("none", key(node)), False) in guard:
        return False
    return is_optional(node) or (is_asked_for_none(node) and not _is_read_before(node, guard))


def is_asked_for_none(node: Node) -> bool:
    """Whether the function of a value asks it, somewhere, whether it is None: `while x is not None: x = following()`
    asks each of those that the name may stand for, where none of them is None by itself."""
    choices = (one for one in node.function.nodes if one.op is Op.PHI and node in one.args)
    asked = {node, *(one for one in choices if not any(map(is_none, one.args)))}
    tests = (one for one in node.function.nodes if one.op is Op.COMPARE and len(one.args) == 2)
    return any(comparison(one)[0] == ("none", key(each)) for one in tests for each in asked.intersection(one.args))


def _is_read_before(node: Node, guard: Guard) -> bool:
    """Whether an attribute of a value is read before it is asked for None, which None does not have."""
    uses = [one for one in node.function.nodes if node in one.args]
    asked = min((one.index for one in uses if one.op is Op.COMPARE), default=0)
    return any(one.op is Op.ATTR and one.index < asked and one.guard <= guard for one in uses)


def calls_builtin(node: Node, *called: str) -> bool:
    """Whether a value is the result of one of some builtins, which was given something."""
    if node.op is not Op.CALL or len(node.args) < 2:
        return False
    found = names(node.args[0])
    return bool(found) and found[0].startswith("builtins.") and found[0].removeprefix("builtins.") in called


def shows(call: Node) -> bool:
    """`print(x)`, `logger.info(x)`, `type(x)`: what tells of a value, wherever that is, and leaves it there."""
    return calls_builtin(call, *_TELLING) or (call.op is Op.CALL and method_name(call) in _LOGGING)


_TELLING = ("print", "repr", "type", "isinstance", "id")
_LOGGING = frozenset({"debug", "info", "warning", "warn", "error", "critical", "log", "write", "add_text"})
"""Methods of loggers, progress bars and files that get a text."""


def makes_parameter(value: Node) -> bool:
    """`nn.Parameter(torch.ones(3))`, and `.float()` of it, which is the very same if it has that type."""
    while method_name(value) in _GIVING_ITSELF:
        value = value.args[0].args[0]
    if value.op is not Op.CALL:
        return False
    found = names(value.args[0])
    return any(canonical(one) in PARAMETERS for one in found) if found else value.args[0].extra == "Parameter"


_GIVING_ITSELF = frozenset({"float", "requires_grad_"})


def reads_key(node: Node) -> bool:
    """`batch.get("mask")`: an item of a mapping, or None."""
    if node.op is not Op.CALL or node.args[0].op is not Op.ATTR or node.args[0].extra != "get":
        return False
    key = node.args[1] if len(node.args) > 1 else None
    return key is not None and key.op is Op.CONST and isinstance(key.extra, str)


def is_asked_to_move(value: Node, users_of: Callable[[Node], Iterable[Node]]) -> bool:
    """`net.to(device)`, `net.cuda()`: whether a method is called that moves a value; options may have such a flag."""
    asked = (one for one in users_of(value) if one.op is Op.ATTR and one.extra in {"to", "cuda"})
    return any(call.op is Op.CALL and call.args[0] is one for one in asked for call in users_of(one))


def takes_name(call: Node) -> bool:
    """`net = wrap(net)`"""
    match call.statement:
        case ast.Assign(targets=[ast.Name()]):
            return bool(replaced(call))
    return False


def replaced(call: Node) -> tuple[Node, ...]:
    """The arguments whose names are given to the results of a call: `x` of `x = to_like(x, y)`."""
    match call.statement, call.syntax:
        case ast.Assign(targets=[target], value=value), ast.Call(args=given) if value is call.syntax:
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
        case _:
            return ()
    words = {one.id for one in targets if isinstance(one, ast.Name)}
    by_position = zip(call.args[1:], given, strict=False)
    return tuple(node for node, one in by_position if isinstance(one, ast.Name) and one.id in words)
