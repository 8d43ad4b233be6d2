"""How a value of another place in the program is spelled here."""

import ast
import json

from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import literal
from devfix_codemods.ir.keys import name as name_of
from devfix_codemods.ir.nodes import Environment
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.points import Point

_DEEPEST = 4
"""Through how many attributes, calls and parameters a value is followed."""
_FLAGS = frozenset({Op.CALL, Op.COMPARE, Op.PARAM, Op.PHI})
"""Operations whose results may be tested in place of the test itself: `use_cuda = torch.cuda.is_available()`."""


def spelled(analysis: Analysis, value: Node, point: Point, depth: int = _DEEPEST) -> str | None:
    """An expression for `value` at a point: a name, an attribute of what has one; None where nothing is.

    `torch.device("cuda")` is spelled by its string, which does where a device is wanted.

    Attributes of the object of a method, and what a caller gives for a parameter, are followed between functions.
    """
    name = _bound(value, point)
    if name is not None or depth == 0:
        return name
    match value.op:
        case Op.CONST if isinstance(value.extra, str):
            return json.dumps(value.extra, ensure_ascii=False)
        case Op.CONST if isinstance(value.extra, int):
            return repr(value.extra)
        case Op.CALL if name_of(value.args[0]) == "torch.device" and len(value.args) == 2:
            device = value.args[1]
            return spelled(analysis, device, point, depth - 1) if device.op is Op.CONST else None
        case Op.ATTR:
            base = spelled(analysis, value.args[0], point, depth - 1)
            if base is not None and _is_set(base, str(value.extra), point):
                return f"{base}.{value.extra}"
        case Op.GLOBAL:
            return _global(value, point)
        case Op.PARAM:
            return _parameter(analysis, value, point, depth)
    return None


def spelled_test(condition: Guard, point: Point) -> str | None:
    """An expression that is true under a condition of one test: a flag that has a name here, or a question to torch."""
    if len(condition) != 1:
        return None
    atom, holds = next(iter(condition))
    for name, node in point.visible.items():
        if node.op in _FLAGS and name.isidentifier() and literal(node)[0] == atom:
            return name if literal(node)[1] is holds else f"not {name}"
    if all(one.op is not Op.REF or one.extra != "torch" for one in point.visible.values()):
        return None
    match atom:
        case ("call", ("REF", str(text))) if text.startswith("torch."):
            return f"{text}()" if holds else f"not {text}()"
    return None


def device_of_given_module(analysis: Analysis, conflict: Conflict, point: Point) -> str | None:
    """`self.model.device`, `next(model.parameters()).device`: where a module is that a caller gives, by its name."""
    if conflict.end.links != ("module-parameter",):
        return None
    modules = (step.node for step in conflict.path if analysis.kinds.is_module(step.node))
    name = next((text for one in modules if (text := spelled(analysis, one, point)) is not None), None)
    if name is None:
        return None
    annotation = getattr(conflict.end.node.syntax, "annotation", None)
    has_device = annotation is not None and "PreTrained" in ast.unparse(annotation)  # the models of transformers
    return f"{name}.device" if has_device else f"next({name}.parameters()).device"


def _bound(value: Node, point: Point) -> str | None:
    """The name, or the attribute of a name, under which a value is kept here: in the function, or a name around it.

    A key with a bracket is that of an element, not of an attribute.
    """
    found = next((name for name in _names(point.environment) if point.environment[name] is value), None)
    if found is not None:
        return found
    for key, node in point.environment.items():
        if node is value and not isinstance(key, str) and not key[1].startswith("["):
            base = next((name for name in _names(point.environment) if point.environment[name] is key[0]), None)
            if base is not None:
                return f"{base}.{key[1]}"
    function = point.node.function.parent
    while function is not None:
        found = next((name for name in _names(function.finals) if function.finals[name] is value), None)
        if found is not None and point.binds(found) is value:
            return found
        function = function.parent
    return None


def _names(environment: Environment) -> list[str]:
    return [name for name in environment if isinstance(name, str) and name.isidentifier()]


def _is_set(base: str, attribute: str, point: Point) -> bool:
    """Whether an attribute is there by now: in a constructor, those of the object that were set before."""
    itself, function = point.node.function.self_node, point.node.function
    if itself is None or function.name != "__init__" or base != itself.extra:
        return True
    return (itself, attribute) in point.environment


def _global(value: Node, point: Point) -> str | None:
    name = str(value.extra)
    if point.binds(name) is None:
        return None
    top = value.function.module.top
    return name if point.binds(name) in {value, top.finals.get(name)} else None


def _parameter(analysis: Analysis, value: Node, point: Point, depth: int) -> str | None:
    """How a parameter is spelled here: `self` as this method calls it, the attribute that keeps it, or what the one
    caller gives for it."""
    here = point.node.function
    if value.function.self_node is value:
        same = here.self_node is not None and here.owner is value.function.owner
        return str(here.self_node.extra) if same and here.self_node is not None else None
    kept = _kept(analysis, value) if here is not value.function and here.owner is value.function.owner else None
    if kept is not None and here.self_node is not None:
        return f"{here.self_node.extra}.{kept}"
    given = set(analysis.kinds.given.get(value, ()))
    return spelled(analysis, given.pop(), point, depth - 1) if len(given) == 1 else None


def _kept(analysis: Analysis, parameter: Node) -> str | None:
    """The attribute in which the constructor of a class, and nothing else, keeps what it is given."""
    made, owner = parameter.function, parameter.function.owner
    if made.name != "__init__" or owner is None:
        return None
    stored = analysis.births.attributes.stored
    own = (str(one.key) for one in made.stores if one.value is parameter and one.base is made.self_node)
    return next((one for one in own if stored.get(owner.field_of(one)) == [parameter]), None)
