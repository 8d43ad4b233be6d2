"""Which expressions name a device at a point of the program, whatever is to be moved there."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.ir.items import reads_of
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import loaded_to
from devfix_codemods.placement.places import Where, place_of, sounds_like_device, speaks_of_several
from devfix_codemods.repairs.conditions import is_accelerator
from devfix_codemods.repairs.devices import may_name_device
from devfix_codemods.repairs.points import Point, means_same, names_in
from devfix_codemods.repairs.script_names import lacks_script_name

_KEPT = ("device", "_device", "torch_device")
_EARLY = frozenset({"__init__", "__post_init__", "__new__"})


def devices_at(analysis: Analysis, point: Point, *, even_cuda: bool = False) -> Iterator[tuple[str, Node]]:
    """What was chosen as a device, and means that here: names, then attributes of the object, then those of others.

    None of them is just another way to spell CUDA, unless that would do, and none is a name that only the script has
    where others run the function, too.
    """
    seen: set[str] = set()
    function = point.node.function
    for text, node in (*_names(point), *_of_object(analysis, point), *_used(analysis, point)):
        if text in seen or not _is_chosen(analysis, node, even_cuda):
            continue
        seen.add(text)
        if not lacks_script_name(analysis, function, names_in(text)):
            yield text, node


def _names(point: Point) -> Iterator[tuple[str, Node]]:
    near = {one: node for one, node in point.environment.items() if isinstance(one, str)}
    yield from _by_name(near)
    function = point.node.function.parent
    while function is not None:
        far = {one: node for one, node in function.finals.items() if isinstance(one, str) and one not in near}
        yield from _by_name(far)
        near |= far
        function = function.parent


def _by_name(names: dict[str, Node]) -> Iterator[tuple[str, Node]]:
    """Names that speak of a device, then those that are bound to one."""
    order = sorted(names, key=lambda one: ("device" not in one, one.strip("_").lower() != "device", len(one), one))
    for one in order:
        speaks = "device" in one and not speaks_of_several(one)
        if (speaks and may_name_device(one, names[one])) or _made_of(names[one]):
            yield one, names[one]


def _of_object(analysis: Analysis, point: Point) -> Iterator[tuple[str, Node]]:
    function = point.node.function
    itself, owner = function.object_node, function.owner
    if itself is None or owner is None or point.binds(str(itself.extra)) is not itself:
        return
    for attribute in _KEPT:
        here = point.environment.get((itself, attribute))
        if here is not None and here.op is not Op.ATTR:
            yield f"{itself.extra}.{attribute}", here
        elif function.name not in _EARLY and _has(analysis, owner, attribute):
            yield f"{itself.extra}.{attribute}", owner.field_of(attribute)


def _has(analysis: Analysis, owner: Class, attribute: str) -> bool:
    """Whether objects of a class have an attribute: it is set, or its bases, in whatever files, read it."""
    if owner.sets(attribute) or attribute in owner.members:
        return True
    bases = (one for one in analysis.births.imported.lineage(owner) if one not in analysis.module.classes)
    return any(True for one in bases for _ in reads_of(one, attribute))


def _used(analysis: Analysis, point: Point) -> Iterator[tuple[str, Node]]:
    """`args.device`: what the program moves others to, where all of its names mean the same."""
    for node in analysis.module.of(Op.CALL):
        device = _told(analysis, node)
        if device is None or device.op is not Op.ATTR or not isinstance(device.syntax, ast.Attribute):
            continue
        base = device.args[0]
        of_self = base is base.function.self_node
        early = point.node.function.name in _EARLY and of_self
        if not early and sounds_like_device(device.syntax.attr) and means_same(analysis, device.syntax, device, point):
            owner = base.function.owner
            set_here = of_self and owner is not None and owner.sets(str(device.extra))
            yield (
                ast.unparse(device.syntax),
                owner.field_of(str(device.extra)) if set_here and owner is not None else device,
            )


def _told(analysis: Analysis, call: Node) -> Node | None:
    """The device that a call is told for what it moves, makes or loads."""
    place = analysis.births.place_given(call)
    device = loaded_to(call)
    if place is None and device is not None:
        place = place_of(device, analysis.kinds)
    return place.node if place is not None and place.where is Where.DEVICE else None


def _is_chosen(analysis: Analysis, node: Node, even_cuda: bool) -> bool:
    """Whether a value is a device, and not in any case CUDA, or the host."""
    values = values_of(node)
    if node.op is not Op.PHI and any(map(_may_be_word, values or [node])):
        return False
    if values and not even_cuda and all(is_accelerator(analysis, one) for one in values):
        return False
    for one in values or [node]:
        place = place_of(one, analysis.kinds)
        if place is not None and place.where is Where.DEVICE:
            return analysis.kinds.of(node) in {Kind.DEVICE, Kind.TEXT, None}
    place = place_of(node, analysis.kinds)
    return place is not None and place.where is Where.DEVICE and analysis.kinds.of(node) in {Kind.DEVICE, None}


def _may_be_word(node: Node) -> bool:
    """Whether a parameter may be a text that torch takes for no device, such as `"auto"`: by default, or as it is
    compared with one."""
    if node.op is not Op.PARAM:
        return False
    default = node.function.defaults.get(str(node.extra))
    compared = (one for one in node.function.module.users.get(node, ()) if one.op is Op.COMPARE)
    others = [each for one in compared for each in one.args if each is not node]
    others += [each for one in others if one.op is Op.SEQUENCE for each in one.args]
    texts = (one.extra for one in (*others, *([default] if default is not None else ())) if one.op is Op.CONST)
    return any(isinstance(one, str) and _TAKEN.match(one) is None for one in texts)


_TAKEN = re.compile(r"(?:cpu|cuda|mps|xpu|npu|hpu|xla|mlu|musa|meta|privateuse\w*)(?:\W|$)")
"""How texts begin that torch takes for devices."""


def values_of(node: Node) -> list[Node]:
    """What a value may be: of an attribute, all that it is set to; of a choice, what is chosen between."""
    if node.op is Op.FIELD:
        owner = next((one for one in node.function.module.classes if one.fields.get(str(node.extra)) is node), None)
        return _stored(owner, str(node.extra)) if owner is not None else []
    if node.op is Op.ATTR and node.args[0] is node.args[0].function.self_node:
        owner = node.args[0].function.owner
        return _stored(owner, str(node.extra)) if owner is not None else []
    if node.op is Op.PHI:
        return list(node.args)
    return [node]


def _stored(owner: Class, attribute: str) -> list[Node]:
    """What the methods of a class, its body, and those of its bases here give an attribute."""
    found: list[Node] = []
    for each in owner.lineage():
        found += [each.members[attribute]] if attribute in each.members else []
        asked = each.methods.get(attribute)
        found += [one for one, _ in asked.returns] if asked is not None and asked.is_property else []
        for method in each.methods.values():
            found += [
                one.value
                for one in method.stores
                if one.is_attribute and one.base is method.self_node and one.key == attribute
            ]
    return [given.args[0] if (given := one).op is Op.FUNCTION and given.args else one for one in found]


def may_be_unset(node: Node, depth: int = 0) -> bool:
    """Whether a device is None until the code itself sets it, and not because a caller leaves it out."""
    if node.op is Op.CONST:
        return node.extra is None
    if depth > 4:
        return False
    if node.op is Op.PHI:
        return any(
            may_be_unset(one, depth + 1) and (("none", key(one)), False) not in guard
            for one, guard in zip(node.args, node.extras)
        )
    if node.op is Op.FUNCTION or node.op in {Op.FIELD, Op.ATTR}:
        return any(may_be_unset(one, depth + 1) for one in values_of(node) if one is not node)
    return False


def is_cuda_if_there(node: Node) -> bool:
    """`"cuda" if torch.cuda.is_available() else "cpu"`, in whatever form: it says what a move that asks says, too."""
    parts = [node, *(one for one in node.args if one.op is Op.PHI)] if _made_of(node) else [node]
    guards = [each for one in parts if one.op is Op.PHI and isinstance(one.extra, tuple) for each in one.extra]
    return any("torch.cuda.is_available" in str(atom) for guard in guards for atom, _ in guard)


def _made_of(node: Node) -> bool:
    return node.op is Op.CALL and name(node.args[0]) == "torch.device"
