"""Constructors that a program looks up: `models.__dict__[name]`, `getattr(models, name)`, `KNOWN[name]`, `chosen()`."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.placement.naming import sounds_like_class

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def is_looked_up(callee: Node) -> bool:
    """Whether what is called comes out of a table, of a module of Python by a name, or of a function of the file."""
    found = callee.op is Op.CALL and name(callee.args[0]) == "builtins.getattr"
    return found or callee.op is Op.ITEM or _chooser(callee) is not None


def makes_module(kinds: "Kinds", call: Node) -> bool:
    """Whether a call makes a module, whichever constructor is looked up for it."""
    callee = call.args[0]
    home = _home(callee)
    if home is not None:
        return effect(f"{home}.any") is Effect.MODULE
    found = _constructors(callee)
    return bool(found) and all(_is_constructor(kinds, one) for one in found)


def makes_object(call: Node) -> bool:
    """Whether a call makes an object of a class, whichever is looked up for it, by the names of the classes."""
    found = _constructors(call.args[0])
    return bool(found) and all(sounds_like_class(one) for one in found)


def _chooser(callee: Node) -> Function | None:
    """The function of the file whose result is called."""
    called = callee.args[0].extra if callee.op is Op.CALL and callee.args[0].op is Op.FUNCTION else None
    return called if isinstance(called, Function) else None


def _constructors(callee: Node) -> list[Node]:
    """What a table that the file spells out holds, under the key that is asked for where that is a text, and what a
    function of the file gives."""
    if (chooser := _chooser(callee)) is not None:
        return [value for value, _ in chooser.returns]
    table = resolved(callee.args[0]) if callee.op is Op.ITEM else None
    if table is None or table.op is not Op.MAPPING:
        return []
    known = [one for one, key in zip(table.args, table.extras) if key == callee.extra and len(callee.args) == 1]
    return known or list(table.args)


def _home(callee: Node) -> str | None:
    """The module of Python in which a constructor is looked up."""
    if callee.op is Op.CALL and len(callee.args) > 2:
        return name(callee.args[1]) if name(callee.args[0]) == "builtins.getattr" else None
    base = callee.args[0] if callee.op is Op.ITEM else None
    if base is None or base.op is not Op.ATTR or base.extra != "__dict__":
        return None
    return name(base.args[0])


def _is_constructor(kinds: "Kinds", value: Node) -> bool:
    found = resolved(value)
    if found.op is Op.CLASS:
        return found.extra in kinds.module_classes
    made = kinds.imported.class_of(found)
    if made is not None:
        return kinds.is_module_class(made)
    return bool(names(found)) and all(effect(canonical(one)) is Effect.MODULE for one in names(found))
