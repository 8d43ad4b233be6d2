"""Which expression names the device at a place in the program.

In this order: what the sibling's move says, where all of its names mean the same; a device in scope; the device of a
tensor at hand.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import calls_builtin, is_optional
from devfix_codemods.placement.graph import Birth, Turn
from devfix_codemods.placement.operands import is_index
from devfix_codemods.placement.places import Where, place_of
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.conditions import condition, is_accelerator, moving, needs_accelerator, test_around, way_to
from devfix_codemods.repairs.declared import for_choice
from devfix_codemods.repairs.held import attributes_at, carried_by, device_side, has_weight, is_at_module, items_at
from devfix_codemods.repairs.named import named
from devfix_codemods.repairs.overlapping import overlapping
from devfix_codemods.repairs.points import Point, means_same
from devfix_codemods.repairs.spelling import device_of_given_module, spelled
from devfix_codemods.repairs.suffix import Suffix


def suffixes(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The ways to write the move at `point`, the best first."""
    return (overlapping(analysis, conflict, one) for one in _suffixes(analysis, conflict, point))


def _suffixes(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    if _is_placed_outside(analysis, conflict, point):
        yield from (one for one in _of_tensors(analysis, conflict, point) if one.follows)
        for other in _given_here(analysis, conflict, point):
            yield from (one for one in _of_tensors(analysis, other, point) if one.follows)
    yield from _of_sibling(analysis, conflict, point)
    yield from _in_scope(analysis, conflict, point)
    if conflict.end.place.where is Where.CALLER:  # who gave it knows where it is, better than the object
        yield from (one for one in _of_tensors(analysis, conflict, point) if one.follows)
    yield from _kept(point)
    yield from _of_tensors(analysis, conflict, point)
    yield from named(analysis, conflict, point)
    if conflict.end.links == ("collective",):
        text = '"cuda" if torch.cuda.is_available() else "cpu"'
        yield Suffix(f".to({text})", text)
    yield from _as_chosen(analysis, conflict, point)
    yield from _of_given(analysis, conflict, point)
    if conflict.end.place.where is Where.DEVICE:
        yield from _of_called(analysis, conflict, point)


def _of_given(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    text = device_of_given_module(analysis, conflict, point)
    if text is not None:
        yield Suffix(f".to({text})", text)


def _is_placed_outside(analysis: Analysis, conflict: Conflict, point: Point) -> bool:
    """Whether another function moves what the value meets, and hands no device over: tensors say where that is."""
    function, end = point.node.function, conflict.end
    if (
        conflict.birth.birth not in _MADE
        or isinstance(function.syntax, ast.Module)
        or (end.node.function is function and end.place.where is Where.DEVICE)
    ):
        return False
    own = ((one, node) for one, node in point.environment.items() if isinstance(one, str) and "device" in one)
    return not any(_is_device(analysis, one, node) or _followed(analysis, node) is not None for one, node in own)


def _given_here(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Conflict]:
    """The conflicts of the same value with what the function is given, which it meets as surely."""
    for one in analysis.ends(conflict.birth) if conflict.end.place.where is Where.DEVICE else ():
        own = one.end.node.op is Op.PARAM and one.end.node.function is point.node.function
        if own and one is not conflict and one.end.place.where is Where.CALLER and one.together >= conflict.confidence:
            yield one


def _as_chosen(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`"cuda" if torch.cuda.is_available() else "cpu"`, as the move that placed the other value chooses it."""
    move = conflict.end.node
    call = moving(move.args[1] if move.op is Op.AFTER else move)
    given = call.args[1].syntax if call is not None and len(call.args) == 2 else None
    if call is not None and isinstance(given, ast.IfExp) and means_same(analysis, given, call, point):
        text = analysis.text(given)
        yield Suffix(f".to({text})", text)


def _of_sibling(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """As the move that placed the other value does it, if that means the same here, and holds here."""
    move = conflict.end.node
    if conflict.end.place.where is not Where.DEVICE:
        return
    call = moving(move.args[1] if move.op is Op.AFTER else move)
    if call is None or not isinstance(call.syntax, ast.Call) or not isinstance(call.syntax.func, ast.Attribute):
        yield from _as_given(analysis, conflict, point)
        return
    syntax = call.syntax
    assert isinstance(syntax.func, ast.Attribute)
    given = [*syntax.args, *(one.value for one in syntax.keywords)]
    if any(isinstance(each, ast.IfExp) for one in given for each in ast.walk(one)):
        yield from _of_choice(analysis, conflict, call, point)
        return
    if not all(means_same(analysis, one, call, point) for one in given):
        yield from _as_spelled_here(analysis, conflict, conflict.end.place.node, point)
        return
    test = None
    if needs_accelerator(analysis, call):
        guarded = [one for one in way_to(conflict) if not condition(analysis, one) <= point.guard]
        if guarded:
            test = test_around(analysis, guarded[0], point) if len(guarded) == 1 else None
            if test is None or not means_same(analysis, test, guarded[0], point):
                return
    if any(analysis.kinds.of(one) is Kind.DTYPE for one in call.args[1:]):
        given = given[:1]
        arguments = analysis.text(given[0])
    else:
        parts = [analysis.text(one) for one in syntax.args]
        parts += [f"{one.arg}={analysis.text(one.value)}" for one in syntax.keywords if one.arg != "dtype"]
        arguments = ", ".join(parts)
    device = analysis.text(given[0]) if given and syntax.func.attr == "to" else None
    if syntax.func.attr == "cuda":
        device = '"cuda"' if not given else None
    if syntax.func.attr == "type":
        return
    if test is not None:
        yield Suffix(f".{syntax.func.attr}({arguments})", None, test=analysis.text(test))
    else:
        yield Suffix(f".{syntax.func.attr}({arguments})", device)


def _of_choice(analysis: Analysis, conflict: Conflict, move: Node, point: Point) -> Iterator[Suffix]:
    """A name for what a move chooses on the spot; another function that has the module asks that first."""
    ways = [_declared(analysis, move, point), _of_called(analysis, conflict, point)]
    for way in ways if move.function is point.node.function else reversed(ways):
        yield from way


def _declared(analysis: Analysis, move: Node, point: Point) -> Iterator[Suffix]:
    choice = move.args[1].syntax if len(move.args) == 2 else None
    edits = for_choice(analysis.file, choice, point.node.line) if analysis.file and choice is not None else None
    if edits is not None:
        yield Suffix(".to(device)", "device", edits=edits)


def _as_given(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """The device of an end that is no call of `.to`: it was given to a factory, or to a function."""
    placed = conflict.end.place.node
    if placed is conflict.end.node and placed.op not in {Op.PARAM, Op.CALL}:
        return  # a device that is declared, by whatever name
    named = placed.syntax if placed is not None else None
    named = ast.Name(named.arg) if isinstance(named, ast.arg) else named
    if isinstance(named, _NAMES) and means_same(analysis, named, conflict.end.node, point):
        text = analysis.text(named)
        yield Suffix(f".to({text})", text)
    else:
        yield from _as_spelled_here(analysis, conflict, placed, point)


def _as_spelled_here(analysis: Analysis, conflict: Conflict, device: Node | None, point: Point) -> Iterator[Suffix]:
    """The device that the other value is moved to, under the name that it has here."""
    if device is None or not _is_device(analysis, "device", device):
        return
    guarded = any(not one.guard <= point.guard for one in way_to(conflict))
    if guarded and is_accelerator(analysis, device):
        return  # it fails where the program moves nothing
    text = spelled(analysis, device, point)
    if text is not None:
        yield Suffix(f".to({text})", text)


def _in_scope(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """A name bound here to a device."""
    guarded = any(not one.guard <= point.guard for one in way_to(conflict))
    side = device_side(conflict)
    names = _visible(point)
    for text in sorted(names, key=lambda one: (one != "device", "device" not in one, len(one))):
        if guarded and is_accelerator(analysis, names[text]):
            continue  # it fails where the program moves nothing
        if is_optional(names[text]):
            continue
        if "device" in text and "devices" not in text and _is_device(analysis, text, names[text]):
            yield Suffix(f".to({text})", text)
        elif _followed(analysis, names[text]) in side:
            yield Suffix(f".to({text})", text, follows=True)


def _kept(point: Point) -> Iterator[Suffix]:
    """`self.device`, where the class sets it."""
    itself = point.node.function.self_node
    owner = point.node.function.owner
    if itself is not None and owner is not None and point.binds(str(itself.extra)) is itself:
        for attribute in ("device", "_device"):
            if owner.sets(attribute) and (
                point.node.function.name != "__init__" or (itself, attribute) in point.environment
            ):
                text = f"{itself.extra}.{attribute}"
                yield Suffix(f".to({text})", text)


def _visible(point: Point) -> dict[str, Node]:
    """What all names mean at a point, in the function or around it."""
    names: dict[str, Node] = {}
    function = point.node.function.parent
    bound = [point.environment]
    while function is not None:
        bound.append(function.finals)
        function = function.parent
    for environment in bound:
        for one, node in environment.items():
            if isinstance(one, str):
                names.setdefault(one, node)
    return names


def may_name_device(text: str, node: Node) -> bool:
    """Whether a name is no function: what is imported is a device where it is called just that."""
    return node.op not in {Op.FUNCTION, Op.CLASS} and (node.op is not Op.REF or text == "device")


def _is_device(analysis: Analysis, text: str, node: Node) -> bool:
    if not may_name_device(text, node):
        return False
    place = place_of(node, analysis.kinds)
    return place is not None and place.where is Where.DEVICE and analysis.kinds.of(node) in {Kind.DEVICE, None}


def _followed(analysis: Analysis, node: Node) -> Node | None:
    """The tensor of which a value is the device: `x` of `device = x.device`."""
    asked = node.op is Op.ATTR and node.extra == "device"
    place = place_of(node, analysis.kinds) if asked else None
    return place.node if place is not None and place.where is Where.FOLLOWS else None


def _of_tensors(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`x.device` of a tensor here that must be where the value has to go."""
    names = {node: one for one, node in point.environment.items() if isinstance(one, str) and one.isidentifier()}
    for node in _beside(analysis, conflict, point):
        bound = names.get(node)
        if bound is None or bound == "_" or _is_born_on_host(analysis, node):
            continue
        if _is_tensor(analysis, node) and _is_given(node, point):
            known = analysis.kinds.of(node) is Kind.TENSOR or _is_asked(node)
            yield Suffix(f".to({bound}.device)", f"{bound}.device", follows=known)
    for chosen, called in names.items():
        if _is_moved_on_condition(chosen, conflict.end.node) and not analysis.kinds.is_module(chosen):
            yield Suffix(f".to({called}.device)", f"{called}.device", follows=True)
    for text in (*items_at(analysis, conflict, point), *attributes_at(analysis, conflict, point)):
        yield Suffix(f".to({text}.device)", f"{text}.device", follows=True)
    yield from _of_module(analysis, conflict, point)


def _is_moved_on_condition(node: Node, move: Node) -> bool:
    """`x` behind `if use_cuda: x = x.cuda()`: it is where what it meets has to be, on either path."""
    if node.op is not Op.PHI or move.op is not Op.CALL or move.args[0].op is not Op.ATTR:
        return False
    return set(node.args) == {move, move.args[0].args[0]}


def _of_called(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """`next(model.parameters()).device`: where a module is that has a name here, and that the path leads through."""
    if conflict.birth.birth not in _GIVEN:
        return
    names = {node: one for one, node in point.environment.items() if isinstance(one, str) and one.isidentifier()}
    for one in conflict.path:
        callee = one.node.args[0] if one.node.op is Op.CALL else None
        if callee is None or callee not in names or callee is point.node.function.self_node:
            continue
        if analysis.kinds.is_module(callee) and not analysis.kinds.is_loss(callee):  # losses have no parameters
            text = f"next({names[callee]}.parameters()).device"
            yield Suffix(f".to({text})", text)


def _is_born_on_host(analysis: Analysis, node: Node) -> bool:
    """Whether a value that the path goes through is misplaced as well, so that it tells no device."""
    births = analysis.constraints.births
    sources = (one for root in births.roots(node) for one in analysis.graph.sources.get(root, ()))
    return any(one.place.where is Where.HOST and one.birth is not Birth.CHOSEN_HOST for one in sources)


def _of_module(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """Where the module of this method is: by its input, by a parameter of its own."""
    function = point.node.function
    itself, owner = function.self_node, function.owner
    if not is_at_module(conflict, owner):
        return
    if owner is None or itself is None:
        yield from _of_object(analysis, conflict, point)
        return
    if owner not in analysis.kinds.module_classes or point.binds(str(itself.extra)) is not itself:
        return
    if function.name == "forward":
        yield from _of_layer(conflict, function)
        for name, node in function.parameters.items():
            if node is not itself and point.binds(name) is node and _enters(analysis, node):
                known = analysis.kinds.of(node) is Kind.TENSOR
                yield Suffix(f".to({name}.device)", f"{name}.device", follows=known)
        for bound, node in point.environment.items():
            known = isinstance(bound, str) and bound.isidentifier()
            if known and (_comes_of_part(analysis, node) or _is_part_of_input(analysis, node)):
                yield Suffix(f".to({bound}.device)", f"{bound}.device", follows=True)
    elif function.name != "__init__":
        yield from _of_layer(conflict, function)
        kept = carried_by(owner)
        if kept is not None:
            text = f"{itself.extra}.{kept}.device"
            yield Suffix(f".to({text})", text)
        elif conflict.end.place.where is Where.MODULE:
            text = f"next({itself.extra}.parameters()).device"
            yield Suffix(f".to({text})", text)


def _of_layer(conflict: Conflict, function: Function) -> Iterator[Suffix]:
    """`self.embed.weight.device`: where a layer of torch is that gets the value."""
    for one in conflict.operations:
        callee = one.args[0] if one.op is Op.CALL and one.function is function else None
        if callee is None or callee.op is not Op.ATTR or callee.args[0] is not function.self_node:
            continue
        if function.owner is not None and has_weight(function.owner, str(callee.extra)):
            text = f"{callee.args[0].extra}.{callee.extra}.weight.device"
            yield Suffix(f".to({text})", text, follows=True)


def _of_object(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Suffix]:
    """Where a model is, by the name that it has outside of its class."""
    for called, node in _visible(point).items():
        made = analysis.kinds.class_of(node)
        if made is not None and made in analysis.kinds.module_classes and made.field_of("") is conflict.end.node:
            text = f"next({called}.parameters()).device"
            yield Suffix(f".to({text})", text)


def _is_part_of_input(analysis: Analysis, node: Node) -> bool:
    """`x` of `x = batch["x"]`, where the module gets a batch."""
    base = node.args[0] if node.op is Op.ITEM else None
    own = base is not None and base.op is Op.PARAM and base is not base.function.self_node
    return own and analysis.kinds.of(node) is Kind.TENSOR


def _comes_of_part(analysis: Analysis, node: Node) -> bool:
    """`h = self.proj(x)`: a result of a part of the module."""
    return node.op is Op.CALL and analysis.kinds.is_module(node.args[0]) and _is_part(analysis, node.args[0])


def _enters(analysis: Analysis, node: Node) -> bool:
    """Whether an input is a tensor, or is given to a module as one, and does more than pick rows."""
    if is_index(node):
        return False
    kind = analysis.kinds.of(node)
    if kind is not None:
        return kind is Kind.TENSOR
    return any(
        one.op is Op.CALL
        and one.args[1:2] == (node,)
        and (analysis.kinds.is_module(one.args[0]) or _is_part(analysis, one.args[0]))
        for one in node.function.nodes
    )


def _is_part(analysis: Analysis, callee: Node) -> bool:
    """`self.features`, where the class of modules keeps what it calls."""
    if callee.op is not Op.ATTR or callee.args[0] is not callee.function.self_node:
        return False
    owner = callee.function.owner
    return owner in analysis.kinds.module_classes and owner.sets(str(callee.extra))


def _is_tensor(analysis: Analysis, node: Node) -> bool:
    kind = analysis.kinds.of(node)
    if node is node.function.self_node or (node.op is Op.PARAM and analysis.kinds.says_surely(node, Kind.NUMBER)):
        return False  # `float | torch.Tensor`, and the object of a method
    if node in analysis.kinds.rows or str(node.extra).startswith("*") or (kind is None and _is_container(node)):
        return False
    given = _given(analysis, node)
    if any(calls_builtin(one, "list", "tuple") or (one.op is Op.PARAM and analysis.is_plain(one)) for one in given):
        return False
    return kind is Kind.TENSOR or (kind is None and node.op in {Op.PARAM, Op.CALL, Op.OPERATION})


def _given(analysis: Analysis, node: Node) -> list[Node]:
    """What a parameter gets, also through the parameters of other functions."""
    found = [node]
    for one in found:  # grows
        found += (each for each in analysis.kinds.given.get(one, ()) if each not in found)
    return found


def _beside(analysis: Analysis, conflict: Conflict, point: Point) -> Iterator[Node]:
    """The values that live where the conflict ends, also by the names that they have on either side of a call."""
    given = analysis.kinds.given
    side = device_side(conflict)
    for one in side:
        yield one
        yield from given.get(one, ())
    for one in point.node.function.parameters.values():
        if given.get(one) and all(each in side for each in given[one]):
            yield one
    for one in _operands(conflict) if conflict.birth.birth in _MADE else ():
        if one not in side and one not in analysis.graph.scalars:
            yield one
            yield from (edge.other for edge in analysis.graph.edges[one] if edge.turn is Turn.SAME)


def _operands(conflict: Conflict) -> Iterator[Node]:
    """What else the operations get that the path goes through."""
    for one in conflict.path:
        if one.edge.turn is Turn.MEET:
            yield from one.node.args
            yield from one.before.node.args if one.before is not None else ()


def _is_container(node: Node) -> bool:
    """Whether nothing is done with a value but to read parts of it under constant keys."""
    users = [one for one in node.function.nodes if node in one.args]
    return bool(users) and all(one.op is Op.ITEM and one.args[0] is node and one.extra is not None for one in users)


def _is_asked(node: Node) -> bool:
    """Whether the program itself asks a value for its device."""
    return any(one.op is Op.ATTR and one.extra == "device" and one.args[0] is node for one in node.function.nodes)


def _is_given(node: Node, point: Point) -> bool:
    """Whether a parameter is a tensor at the point: where each use is under a condition, it may be None."""
    if node.op is not Op.PARAM or (str(node.extra) not in node.function.defaults and _is_annotated(node)):
        return True
    uses = [one.guard for one in node.function.nodes if node in one.args and not _asks_for_none(one)]
    uses += [one.guard for one in node.function.stores if one.base is node]
    return any(one <= point.guard for one in uses)


def _is_annotated(parameter: Node) -> bool:
    """`x: torch.Tensor`, as against what may be None, or another thing, as well."""
    annotation = getattr(parameter.syntax, "annotation", None)
    return annotation is not None and ast.unparse(annotation).strip("'\"") in {"Tensor", "torch.Tensor"}


def _asks_for_none(user: Node) -> bool:
    return user.op is Op.PHI or (user.op is Op.COMPARE and any(one.extra is None for one in user.args[1:]))


_GIVEN = frozenset({Birth.LOADER, Birth.SIBLING})
"""What modules are given, as against what is made for something else."""

_MADE = frozenset({Birth.FACTORY, Birth.ARRAY})
_NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant)
