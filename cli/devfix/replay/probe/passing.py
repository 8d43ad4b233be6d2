"""What a call gave to the library function that it called, read from the frame of that."""

from __future__ import annotations

import ast
from types import CodeType, FunctionType, TracebackType
from typing import Any

from . import reach

_VARIABLE_POSITIONAL, _VARIABLE_KEYWORDS = 0x04, 0x08
_HOOKS = frozenset({"__torch_function__", "__torch_dispatch__"})
"""What torch calls in the place of an operation, with arguments of its own."""


def passed(node: ast.AST, trace: TracebackType) -> dict[ast.expr, Any]:
    """The arguments of the call `node` as the library function that it called has them in its own frame."""
    if not isinstance(node, ast.Call) or trace.tb_next is None:
        return {}
    frame = trace.tb_next.tb_frame
    if frame.f_code.co_name in _HOOKS:
        return {}
    positional, keywords = _arguments(frame.f_code, frame.f_locals)
    count = sum(not isinstance(each, ast.Starred) for each in node.args)
    is_bound = type(reach.evaluate(node.func, trace.tb_frame)) not in (FunctionType, staticmethod)
    if is_bound and len(positional) > count and _has_receiver(frame.f_code, len(positional) - count):
        receiver, positional = positional[0], positional[1:]
    else:
        receiver = reach.MISSING
    found: dict[ast.expr, Any] = {}
    if isinstance(node.func, ast.Attribute) and receiver is not reach.MISSING:
        found[node.func.value] = receiver
    for argument, value in zip(node.args, positional):
        if isinstance(argument, ast.Starred):
            break
        found[argument] = value
    found.update((each.value, keywords[each.arg]) for each in node.keywords if each.arg in keywords)
    return found


def _arguments(code: CodeType, local: Any) -> tuple[list[Any], dict[str, Any]]:
    """What a frame of `code` was called with, as its locals have it now: by position, and by name."""
    names = code.co_varnames
    named = names[: code.co_argcount + code.co_kwonlyargcount]
    positional = [local.get(name, reach.MISSING) for name in names[: code.co_argcount]]
    keywords = {name: local[name] for name in named if name in local}
    at = code.co_argcount + code.co_kwonlyargcount
    if code.co_flags & _VARIABLE_POSITIONAL:
        rest = local.get(names[at])
        positional += rest if type(rest) is tuple else ()
        at += 1
    if code.co_flags & _VARIABLE_KEYWORDS:
        rest = local.get(names[at])
        keywords.update(rest if type(rest) is dict else {})
    return positional, keywords


def _has_receiver(code: CodeType, surplus: int) -> bool:
    """Whether a frame with `surplus` more values than the call gives has first what a method was called on.

    One more may as well be a default, but not before those that `*args` takes.
    """
    return is_method(code) or (surplus == 1 and bool(code.co_flags & _VARIABLE_POSITIONAL))


def is_method(code: CodeType) -> bool:
    """Whether the first parameter is called as that of a method is."""
    return code.co_argcount > 0 and code.co_varnames[0] in ("self", "cls")
