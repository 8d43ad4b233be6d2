"""Values whose device a fix reads, and which have none, or not as an attribute."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.applicability.names import parsed
from devfix_codemods.applicability.points import node_at, point_at
from devfix_codemods.catalogue import Kind, canonical
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Fix
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.non_tensors import may_be_number
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, walk

_PLAIN = frozenset({Kind.NUMBER, Kind.TEXT, Kind.ARRAY, Kind.DTYPE, Kind.FUNCTION})
_SIZED = frozenset(f"torch.{one}" for one in ("zeros", "ones", "empty", "rand", "randn"))
"""What takes nothing but sizes."""
_TENSORS = re.compile(r"\b(?:Tensor|Variable)\b")
_OTHERS = re.compile(
    r"\b(?:int|float|bool|complex|str|number|generic|Number|Real|ndarray|Iterable|Mapping|Collection|Sequence"
    r"|list|tuple|dict|List|Tuple|Dict)\b"
)


def without_device(program: Program, fix: Fix) -> list[str]:
    """The expressions `x.device` in the edits of `fix`, where `x` is asked for its type and may be no tensor.

    So are those where it is surely none, or of a class of the project that has a method of this name.
    """
    return sorted(
        {f"{text}.device" for edit in fix.edits for text in _asked_by(edit) if _has_none(program, edit, text)}
    )


def _asked_by(edit: Edit) -> set[str]:
    """The dotted names whose device an edit reads."""
    read = (one for tree in parsed(edit) for one in walk(tree) if isinstance(one, ast.Attribute))
    return {text for one in read if one.attr == "device" and (text := dotted(one.value)) is not None}


def _has_none(program: Program, edit: Edit, text: str) -> bool:
    node, point = node_at(program, edit), point_at(program, edit)
    value = point.value(text) if point is not None else None
    if node is None or point is None or value is None:
        return False
    if f"{text}.device" in program.source.segment(program.source.span(program.names.statement(node))):
        return False
    if _has_method(program, value) or _is_plain(program.placement, value) or may_be_number(value, point.guard):
        return True
    return _may_be_plain(value, point.guard)


def _has_method(program: Program, value: Node) -> bool:
    """Whether a parameter is annotated with a class that has to be called for its device."""
    said = getattr(value.syntax, "annotation", None)
    owner = program.classes.named(said) if isinstance(said, ast.expr) else None
    method = program.classes.methods(owner).get("device") if owner is not None else None
    return method is not None and not method.decorator_list


def _is_plain(analysis: Analysis, value: Node) -> bool:
    """Whether a value surely has no device, or has to be called for it."""
    owner = analysis.kinds.class_of(value)
    if owner is not None:
        methods = (one.methods.get("device") for one in analysis.constraints.births.imported.lineage(owner))
        return any(one is not None and not one.decorators for one in methods)
    if analysis.kinds.of(value) in _PLAIN or analysis.kinds.is_container(value):
        return True
    return any(value in _counts(one) for one in value.function.nodes)


def _counts(call: Node) -> Iterator[Node]:
    """`range(n)`, `torch.zeros(n, m)`, `torch.zeros((n, m))`, whatever an annotation says of `n`."""
    words = call.extra if call.op is Op.CALL and isinstance(call.extra, tuple) else ()
    asked = name(call.args[0]) if words else None
    if asked is None or not (asked == "builtins.range" or canonical(asked) in _SIZED):
        return
    for one, word in zip(call.args[1:], words):
        if word is None:
            yield from one.args if one.op is Op.SEQUENCE else (one,)


def _may_be_plain(value: Node, guard: Guard) -> bool:
    """Whether the program asks if a value is a tensor, and where `guard` holds it is none, or that is open."""
    if value.op is Op.PHI and isinstance(value.extra, tuple):
        others = [(one, each) for one, each in zip(value.args, value.extra) if one.op is not Op.PHI]
        return any(_may_be_plain(one, guard | each) for one, each in others)
    answers = list(_answers(value, guard))
    return False in answers or (not answers and any(_asks(one, value) for one in value.function.nodes))


def _answers(value: Node, guard: Guard) -> Iterator[bool]:
    """What tests have said of a value's being a tensor."""
    for atom, holds in guard:
        match atom:
            case ("isinstance", asked, types) if asked == key(value):
                said = _is_of_tensors(str(types))
                yield from () if said is None else (said is holds,)
            case ("compare", _, ("call", ("REF", "builtins.type"), asked), types) if asked == key(value):
                said = _is_of_tensors(str(types))
                yield from () if said is None else (said is holds,)
            case ("call", ("REF", "builtins.hasattr"), asked, _) if asked == key(value):
                yield holds
            case ("call", ("REF", "numpy.isscalar"), asked) if asked == key(value):
                yield not holds


def _asks(call: Node, value: Node) -> bool:
    """`isinstance(x, torch.Tensor)`, `hasattr(x, "device")`, `torch.is_tensor(x)`."""
    if call.op is not Op.CALL or len(call.args) < 2 or key(call.args[1]) != key(value):
        return False
    asked = name(call.args[0])
    if asked == "builtins.isinstance" and len(call.args) == 3:
        types = call.args[2].syntax
        return isinstance(types, ast.expr) and _is_of_tensors(ast.unparse(types)) is not None
    if asked == "builtins.hasattr" and len(call.args) == 3:
        return call.args[2].extra in _OF_TENSORS
    return asked == "torch.is_tensor" or (asked or str(call.args[0].extra)).endswith("isscalar")


def _is_of_tensors(types: str) -> bool | None:
    """Whether types are tensors alone, or none of them is one; None for others and for a mixture."""
    tensors, others = _TENSORS.search(types) is not None, _OTHERS.search(types) is not None
    return None if tensors is others else tensors


_OF_TENSORS = frozenset({"device", "to", "cuda", "cpu", "is_cuda", "detach", "dim", "requires_grad"})
