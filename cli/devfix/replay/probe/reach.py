"""Looking things up in frames and objects without running any code of the user's.

No property, `__getattr__` or `__getitem__` of a foreign class is called: only the dictionaries behind objects, plain
containers, and what the interpreter itself implements are read.
"""

from __future__ import annotations

import ast
import collections
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from types import FrameType, MappingProxyType, MemberDescriptorType
from typing import Any

MISSING: Any = object()

_REGISTRIES = ("_parameters", "_buffers", "_modules")
"""Where `torch.nn.Module` keeps what its `__getattr__` finds."""


def is_a(value: Any, kind: type) -> bool:
    """`isinstance` that asks neither `value` nor a metaclass."""
    return kind in ancestors(type(value))


def ancestors(kind: type) -> tuple[type, ...]:
    """The classes that `kind` inherits from, itself first."""
    found: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return found


def class_name(value: Any) -> str:
    """The name of the class of `value`."""
    return str(type.__dict__["__name__"].__get__(type(value)))


def evaluate(node: ast.AST, frame: FrameType) -> Any:
    """The value of a name, an attribute or a subscript with a known key, else MISSING."""
    if isinstance(node, ast.Name):
        return _named(node.id, frame)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = evaluate(node.operand, frame)
        return -number if type(number) is int else MISSING
    if isinstance(node, ast.Attribute):
        owner = evaluate(node.value, frame)
        return MISSING if owner is MISSING else attribute(owner, node.attr)
    if isinstance(node, ast.Subscript):
        owner, key = evaluate(node.value, frame), evaluate(node.slice, frame)
        return MISSING if owner is MISSING or type(key) not in (int, str) else item(owner, key)
    return MISSING


def _named(name: str, frame: FrameType) -> Any:
    local = frame.f_locals
    return local[name] if name in local else frame.f_globals.get(name, MISSING)


def attribute(owner: Any, name: str) -> Any:
    """`owner.name`, where it is data: of the instance, of a module's registries, a slot, a field, or of the class."""
    own = own_dict(owner)
    if name in own:
        return own[name]
    for registry in _REGISTRIES:
        members: Any = own.get(registry)
        if is_a(members, dict) and name in members:
            return members[name]
    if name == "data" and _is_tensor(owner):
        return owner  # the same values at the same place
    is_class = is_a(owner, type)
    found = _of_class(owner if is_class else type(owner), name)
    if found is MISSING or is_class:
        return found
    if type(found) is MemberDescriptorType:
        return _slot(found, owner)
    fields = named_fields(owner)
    if name in fields:
        return tuple.__getitem__(owner, fields.index(name))
    return found if _of_class(type(found), "__get__") is MISSING else MISSING


def has_method(value: Any, name: str) -> bool:
    """Whether the class of `value` has a method of that name."""
    found = _of_class(type(value), name)
    return found is not MISSING and callable(found)


def item(owner: Any, key: Any) -> Any:
    """`owner[key]`, for an int or str key, of the containers of Python and of `torch.nn` and their subclasses."""
    if is_a(owner, collections.UserDict):
        owner = own_dict(owner).get("data")
    if is_a(owner, dict):
        return dict.get(owner, key, MISSING)
    modules: Any = own_dict(owner).get("_modules")
    if is_a(modules, dict):
        if type(key) is int and key < 0:
            key += len(modules)
        return modules.get(str(key), MISSING)
    for kind in (list, tuple):
        if is_a(owner, kind) and type(key) is int and -kind.__len__(owner) <= key < kind.__len__(owner):
            return kind.__getitem__(owner, key)
    return MISSING


def own_dict(owner: Any) -> Mapping[str, Any]:
    """The `__dict__` of an instance or a module; empty where it has none. `Mapping` only so that nobody writes it."""
    try:
        found = object.__getattribute__(owner, "__dict__")
    except Exception:
        return {}
    return found if type(found) is dict else {}


def own_attributes(owner: Any) -> Iterator[tuple[str, Any]]:
    """The data of an instance: its `__dict__` and its slots."""
    yield from list(own_dict(owner).items())
    for kind in ancestors(type(owner)):
        for name, descriptor in list(_namespace(kind).items()):
            if type(descriptor) is MemberDescriptorType and not name.startswith("__"):
                value = _slot(descriptor, owner)
                if value is not MISSING:
                    yield name, value


def entries(owner: Any, limit: int) -> Iterator[tuple[Any, Any]]:
    """The keys (or numbers) and values of a plain container or a `UserDict`, at most `limit`."""
    if is_a(owner, collections.UserDict):
        owner = own_dict(owner).get("data")
    if is_a(owner, dict):
        yield from list(islice(dict.items(owner), limit))
    elif is_a(owner, list):
        yield from enumerate(list(islice(list.__iter__(owner), limit)))
    elif is_a(owner, tuple):
        fields = named_fields(owner)
        for number, value in enumerate(islice(tuple.__iter__(owner), limit)):
            yield (fields[number] if number < len(fields) else number), value


def named_fields(owner: Any) -> tuple[str, ...]:
    """The field names of a namedtuple, else none."""
    if not is_a(owner, tuple):
        return ()
    found = _of_class(type(owner), "_fields")
    return found if type(found) is tuple and all(type(name) is str for name in found) else ()


def _of_class(kind: type, name: str) -> Any:
    for each in ancestors(kind):
        namespace = _namespace(each)
        if name in namespace:
            return namespace[name]
    return MISSING


def _namespace(kind: type) -> MappingProxyType[str, Any]:
    found: MappingProxyType[str, Any] = type.__dict__["__dict__"].__get__(kind)
    return found


def _slot(descriptor: MemberDescriptorType, owner: Any) -> Any:
    try:
        return descriptor.__get__(owner, type(owner))
    except AttributeError:
        return MISSING


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and is_a(value, torch.Tensor)
