"""What the function in which an error arose reads of the object that lacked something: its text says what else that
object is asked for, and what it is compared with."""

from __future__ import annotations

import ast
import functools
import linecache
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any, Union

from .uses import Uses, uses_of

_Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def learned(error: BaseException | None, trace: Sequence[TracebackType], is_ours: Callable[[str], bool]) -> Uses | None:
    """The uses of settings, or of a dict, that lack an attribute or an entry, in the innermost function of the project;
    None where the error says nothing of that sort."""
    own = [one for one in trace if is_ours(one.tb_frame.f_code.co_filename)]
    if not own or not isinstance(error, (AttributeError, KeyError, TypeError)):
        return None
    frame, line = own[-1].tb_frame, own[-1].tb_lineno
    function = _function(frame.f_code.co_filename, line)
    names = [] if function is None else [*_names(frame, error)]
    if function is None or not names:
        return None
    known = uses_of(function, {name for name, _ in names})
    return _merged(
        [
            known[name] if attribute is None else known[name].names[attribute]
            for name, attribute in names
            if attribute is None or attribute in known[name].names
        ]
    )


def _names(frame: FrameType, error: BaseException) -> Iterator[tuple[str, str | None]]:
    """The names of a frame that stand for what lacks something, each with the attribute of its object."""
    for name, value in list(frame.f_locals.items()):
        if _lacks(value, error):
            yield name, None
        own = getattr(value, "__dict__", None) if name == "self" else None
        for attribute, part in list(own.items()) if isinstance(own, dict) else ():
            if _lacks(part, error):
                yield name, attribute


def _lacks(value: Any, error: BaseException) -> bool:
    if isinstance(error, AttributeError):
        return isinstance(value, Namespace) and value is getattr(error, "obj", None)
    if isinstance(error, KeyError):
        named = error.args[0] if error.args else None
        return type(value) is dict and isinstance(named, (str, int)) and named not in value
    return "must be integers or slices, not str" in str(error) and isinstance(value, (list, tuple))


def _merged(found: Sequence[Uses]) -> Uses | None:
    """One for all that read one object under several names."""
    if not found:
        return None
    whole = Uses()
    for one in found:
        whole.names.update(one.names)
        whole.keys.update(one.keys)
    return whole


def _function(file: str, line: int) -> _Function | None:
    """The innermost function around a line."""
    around = [one for one in _functions(file) if one.lineno <= line <= (one.end_lineno or 0)]
    return max(around, key=lambda one: one.lineno, default=None)


@functools.lru_cache(maxsize=64)
def _functions(file: str) -> tuple[_Function, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return ()
    return tuple(one for one in ast.walk(tree) if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)))
