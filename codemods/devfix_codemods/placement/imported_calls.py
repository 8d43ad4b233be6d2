"""Calls of what other files of the project define: whether those move what they get, or give tensors of the host."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import MOVES, Effect, Kind, kind, method_effect
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.items import choices
from devfix_codemods.ir.keys import method_name, names
from devfix_codemods.placement.annotations import says_placeless
from devfix_codemods.placement.arguments import has_device
from devfix_codemods.placement.calls import bound, effect_of
from devfix_codemods.placement.documented import gives_host
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.places import CUDA, Place, place_of, sounds_like_device
from devfix_codemods.placement.targets import moving_call

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

MOST_STEPS = 20


def is_of_host(births: "Births", call: Node) -> bool:
    """Whether a call gives a tensor of the host, by what the file says that defines what is called."""
    called = _called(births, call)
    if called is None or called.module is births.module:
        return False
    return (gives_host(called) and not has_device(call)) or _gives_values_of_host(called)


def defined_elsewhere(imported: ImportedDefinitions, callee: Node) -> Function | None:
    """The function of another file that is called."""
    called = imported.definition(callee)
    return called if isinstance(called, Function) and called.module is not callee.function.module else None


def gives_back_on_host(imported: ImportedDefinitions, call: Node) -> bool:
    """Whether a function of another file gives what is on the host: what it computes need not be there."""
    called = defined_elsewhere(imported, call.args[0])
    return called is not None and _gives_values_of_host(called)


def _gives_values_of_host(called: Function) -> bool:
    """Whether all that a function gives was made on the host, or copied to it, whatever device it was told."""
    given = [choices(value) for value, _ in called.returns]
    return bool(given) and all(any(map(stays_on_host, each)) for each in given)


def moves(imported: ImportedDefinitions, call: Node) -> bool:
    """Whether a call gives back what it gets, moved: `placed(x)`, which another file defines."""
    called = defined_elsewhere(imported, call.args[0])
    if called is None:
        return False
    return any(_moved_parameter(one) is not None for value, _ in called.returns for one in choices(value))


def moves_itself(parameter: Node) -> bool:
    """Whether a function of another file moves what it gets: `x = x.to(self.device)`."""
    return any(one.op is Op.CALL and _moved_parameter(one) is parameter for one in parameter.function.nodes)


def takes_from_host(parameter: Node) -> bool:
    """Whether a function of another file reads with numpy what it gets, or declares it as what has no place:
    `spacing.numpy()`, `frames: np.ndarray`."""
    annotation = getattr(parameter.syntax, "annotation", None)
    if isinstance(annotation, ast.expr) and says_placeless(annotation):
        return True
    calls = (one for one in parameter.function.nodes if method_name(one) == "numpy")
    return any(one.args[0].args[0] is parameter for one in calls)


def place_given(kinds: Kinds, call: Node) -> Place | None:
    """Where a function of another file moves what it makes: to CUDA, to what it is told, or to a device of that file
    that this one imports as well; None where nothing is known of it."""
    called = defined_elsewhere(kinds.imported, call.args[0])
    if called is None or called.yields:
        return None
    places = [place_of_move(kinds, call, called, one) for value, _ in called.returns for one in choices(value)]
    return places[0] if places and all(one == places[0] for one in places) else None


def makes_on_host(kinds: Kinds, call: Node) -> bool:
    """Whether a function of another file makes the module that it gives, and speaks of no device."""
    called = kinds.imported.definition(call.args[0])
    made = kinds.elsewhere.get(call, ())
    if not isinstance(called, Function) or not made or any(map(sounds_like_device, called.parameters)):
        return False
    return not any(_moving(called)) and all(
        one.op is Op.CALL and one.function is called and kinds.is_module(one) and not has_device(one) for one in made
    )


def may_place(kinds: Kinds, call: Node) -> bool:
    """Whether a function of another file moves something: it may be what it gives."""
    called = defined_elsewhere(kinds.imported, call.args[0])
    return called is not None and any(_moving(called))


def _moving(called: Function) -> Iterator[bool]:
    for one in called.nodes:
        if one.op is Op.CALL and one.args[0].op is Op.ATTR:
            yield method_effect(str(one.args[0].extra)) in MOVES


def place_of_move(kinds: Kinds, call: Node, called: Function, value: Node) -> Place | None:
    """Where a move in a function of another file takes what it moves, in terms of a call of that function."""
    moved = moving_call(value)
    callee = moved.args[0] if moved.op is Op.CALL else None
    if callee is None or callee.op is not Op.ATTR:
        return None
    row = method_effect(str(callee.extra))
    device = moved.args[1] if row is Effect.MOVE and len(moved.args) > 1 else None
    if device is None or (device.op is Op.CONST and str(device.extra).startswith("cuda")):
        return CUDA if row in {Effect.CUDA, Effect.MOVE} and (device is None) is (row is Effect.CUDA) else None
    told = next((one for one, parameter in bound(call, called) if parameter is device), None)
    return place_of(told, kinds) if told is not None else _imported(kinds, call, device)


def _imported(kinds: Kinds, call: Node, device: Node) -> Place | None:
    """The name under which this file has a device of the file that a call leads to."""
    home = names(call.args[0])[0].rpartition(".")[0]
    bound_to = device.function.module.top.finals.items()
    called = {f"{home}.{word}" for word, value in bound_to if value is device}
    return next((place_of(one, kinds) for one in kinds.module.of(Op.REF) if one.extra in called), None)


def _moved_parameter(node: Node) -> Node | None:
    """The parameter that a value is a moved copy of: `Variable(x).cuda()`, `x.to(torch.float32).to(device)`."""
    moved = False
    for _ in range(MOST_STEPS):
        if node.op is Op.PARAM:
            return node if moved else None
        if node.op is not Op.CALL:
            return None
        callee = node.args[0]
        found = names(callee)
        row = effect_of(callee)
        if row is Effect.CUDA or (row is Effect.MOVE and not any(_is_type(one) for one in node.args[1:])):
            moved = True
        elif row not in {Effect.PASS, Effect.SAME, Effect.MOVE}:
            return None
        if len(node.args) < 2 and found:
            return None
        node = node.args[1] if found else callee.args[0]
    return None


def _is_type(node: Node) -> bool:
    is_called_so = node.op in {Op.ATTR, Op.PARAM} and node.extra == "dtype"
    return is_called_so or any(kind(one) is Kind.DTYPE for one in names(node))


def _called(births: "Births", call: Node) -> Function | None:
    callee = call.args[0]
    found = births.imported.definition(callee)
    if found is None and callee.op is Op.ATTR:
        owner = _class(births, callee.args[0])
        found = owner.methods.get(str(callee.extra)) if owner is not None else None
    return found if isinstance(found, Function) else None


def _class(births: "Births", node: Node) -> Class | None:
    """The class of another file that a parameter is annotated with."""
    annotation = getattr(node.syntax, "annotation", None) if node.op is Op.PARAM else None
    for one in ast.walk(_parsed(annotation)) if isinstance(annotation, ast.expr) else ():
        named = births.module.top.finals.get(one.id) if isinstance(one, ast.Name) else None
        found = births.imported.definition(named) if named is not None else None
        if isinstance(found, Class):
            return found
    return None


def _parsed(annotation: ast.expr) -> ast.AST:
    """What an annotation says, which may stand in quotes."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval")
        except SyntaxError:
            return annotation
    return annotation


def stays_on_host(node: Node) -> bool:
    """Whether a value is a tensor that was copied to the host, or made there, and is only shown otherwise since."""
    for _ in range(MOST_STEPS):
        if node.op is Op.ITEM:
            node = node.args[0]
            continue
        if node.op is not Op.CALL:
            return False
        callee = node.args[0]
        found = names(callee)
        row = effect_of(callee)
        if row is Effect.TO_HOST:
            return True
        if row is Effect.FACTORY:
            return not has_device(node)
        if row is not Effect.SAME:
            return False
        node = node.args[1] if found else callee.args[0]
    return False
