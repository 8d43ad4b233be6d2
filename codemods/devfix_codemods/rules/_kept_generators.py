"""Generators of the host that modules keep: `module.to(device)` leaves them there, whatever else it moves."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import FACTORIES, GENERATORS, LIKE_FACTORIES, canonical
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import own_attribute, targets
from devfix_codemods.rules._host_on_purpose import runs_on_the_host
from devfix_codemods.rules._sure_whereabouts import SureWhereabouts
from devfix_codemods.rules._whereabouts import Made


def kept_generators(program: Program) -> Iterator[tuple[ast.Call, ast.Call, str]]:
    """The call that makes a generator, one that draws with it where the caller's tensor is, and the text of that place.

    `torch.randn_like(x, generator=self.generator)`, where all that the class gives the attribute is `torch.Generator()`
    or None.
    """
    for call in program.names.calls:
        place = _place(program, call)
        given = next((one.value for one in call.keywords if one.arg == "generator"), None)
        name, owner = own_attribute(given) if given is not None else None, scope.class_around(program, call)
        function = scope.function_around(program, call)
        if place is None or name is None or owner is None or function is None:
            continue
        made = _made_on_host(program, owner, name) if not runs_on_the_host(program, function, call) else None
        if made is not None and _is_of_module(program, owner) and not _asks_for_device(owner, name):
            yield made, call, place


def _place(program: Program, call: ast.Call) -> str | None:
    """`x.device` of `torch.randn_like(x)` and `torch.randn(3, device=x.device)`."""
    name = canonical(program.names.qualified(call.func) or "")
    told = next((one.value for one in call.keywords if one.arg == "device"), None)
    if name in LIKE_FACTORIES and told is None and call.args:
        like, on_host = dotted(call.args[0]), SureWhereabouts(program).source(call.args[0]) is Made.HOST
        return f"{like}.device" if like is not None and not on_host else None
    text = dotted(told) if told is not None and name in FACTORIES | LIKE_FACTORIES else None
    return text if text is not None and text.endswith(".device") else None


def _made_on_host(program: Program, owner: ast.ClassDef, name: str) -> ast.Call | None:
    """The first of the calls that make what a class keeps under `name`, where each makes a generator of the host."""
    found: list[ast.Call] = []
    for one in ast.walk(owner):
        if not isinstance(one, (ast.Assign, ast.AnnAssign)) or name not in map(own_attribute, targets(one)):
            continue
        if one.value is None or (isinstance(one.value, ast.Constant) and one.value.value is None):
            continue
        value = one.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "manual_seed":
            value = value.func.value
        if not isinstance(value, ast.Call) or value.args or value.keywords:
            return None
        if canonical(program.names.qualified(value.func) or "") not in GENERATORS:
            return None
        found.append(value)
    return found[0] if found else None


def _is_of_module(program: Program, owner: ast.ClassDef) -> bool:
    """Whether a class, or one of the file that derives from it, is a module."""
    classes = program.classes
    return any(
        classes.is_module(one) for one in program.names.classes if one is owner or owner in classes.ancestors(one)
    )


def _asks_for_device(owner: ast.ClassDef, name: str) -> bool:
    """`self.generator.device`: the class knows that it may be elsewhere."""
    return any(
        isinstance(one, ast.Attribute) and one.attr == "device" and own_attribute(one.value) == name
        for one in ast.walk(owner)
    )
