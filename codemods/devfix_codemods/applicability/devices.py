"""Fixes that read `x.device`, although `x` may have no device, or has to be called for it, and those that move it where
the program asks whether it is a tensor at all."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.applicability.names import parsed
from devfix_codemods.applicability.points import Point, node_at, point_at
from devfix_codemods.catalogue import Kind, canonical
from devfix_codemods.edits.operations import NODE, Edit
from devfix_codemods.findings import Fix
from devfix_codemods.ir import Guard, Node, Op
from devfix_codemods.ir.guards import comparison
from devfix_codemods.ir.keys import key, name
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.non_tensors import may_be_number
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted, walk

_WITHOUT_DEVICE = frozenset({Kind.NUMBER, Kind.TEXT, Kind.ARRAY, Kind.DTYPE, Kind.FUNCTION})
_TAKING_SIZES = frozenset(f"torch.{one}" for one in ("zeros", "ones", "empty", "rand", "randn"))
"""Factories that take nothing but sizes by position."""
_TENSOR_ATTRIBUTES = frozenset({"device", "to", "cuda", "cpu", "is_cuda", "detach", "dim", "requires_grad"})
"""Whoever asks `hasattr` for one of these asks whether a value is a tensor."""
_TENSOR_TYPES = re.compile(r"\b(?:Tensor|Variable)\b")
_OTHER_TYPES = re.compile(
    r"\b(?:int|float|bool|complex|str|number|generic|Number|Real|ndarray|Iterable|Mapping|Collection|Sequence"
    r"|list|tuple|dict|List|Tuple|Dict)\b"
)


def without_device(program: Program, fix: Fix) -> list[str]:
    """The expressions `x.device` in the edits of `fix` that may fail, or give a method.

    They may where `x` is surely no tensor, where the program tests whether it is one, and where it is an object of a
    class of the project whose `device` is a method.
    """
    devices = ((edit, text) for edit in fix.edits for text in _asked_for(edit, "device"))
    lacking = {f"{text}.device" for edit, text in devices if _may_lack_device(program, edit, text)}
    modules = ((edit, text) for edit in fix.edits for text in _asked_for(edit, "parameters"))
    return sorted(lacking | {f"{text}.parameters" for edit, text in modules if _may_be_no_module(program, edit, text)})


def without_move(program: Program, fix: Fix) -> list[str]:
    """The expressions `x.to` in the edits of `fix` that may fail: the program tests whether `x` is a tensor, or what it
    becomes one of."""
    return sorted({f"{text}.{method}" for edit in fix.edits for text, method in _moved_by(program, edit)})


def _moved_by(program: Program, edit: Edit) -> Iterator[tuple[str, str]]:
    """What an edit moves that may be no tensor, and the methods it does so by."""
    for text, method in {each for tree in parsed(edit) for one in walk(tree) for each in _moved(one)}:
        point = point_at(program, edit)
        value = _value_at(program, edit, text, point) if point is not None else None
        if value is not None and point is not None and _may_become_no_tensor(value, point.guard):
            spelled = value.syntax if text == NODE else None
            yield ast.unparse(spelled) if isinstance(spelled, ast.expr) else text, method


def _moved(call: ast.AST) -> Iterator[tuple[str, str]]:
    """`x` and `to` of `x.to(device)`."""
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=text), attr="to" | "cuda" as method)):
            yield text, method


def _value_at(program: Program, edit: Edit, text: str, point: Point) -> Node | None:
    if text != NODE:
        return point.value(text)
    syntax = node_at(program, edit)
    return program.index.nodes.get(syntax) if isinstance(syntax, ast.expr) else None


def _may_become_no_tensor(value: Node, guard: Guard) -> bool:
    """Whether the program tests if a value is a tensor, or what it is one of, and no test has been made."""
    if _may_be_no_tensor(value, guard):
        return True
    nodes = value.function.nodes
    choices = [one for one in nodes if one.op is Op.PHI and value in one.args]
    asked = any(_tests_type(each, one) for one in choices for each in nodes)
    return asked and not any(_answers_in(guard, value))


def _asked_for(edit: Edit, attribute: str) -> set[str]:
    """The dotted names of which an edit reads an attribute: `net` of `next(net.parameters()).device`."""
    read = (one for tree in parsed(edit) for one in walk(tree) if isinstance(one, ast.Attribute))
    return {text for one in read if one.attr == attribute and (text := dotted(one.value)) is not None}


def _may_be_no_module(program: Program, edit: Edit, text: str) -> bool:
    """Whether the program asks if what `text` names is a module, and where the edit stands it may be none."""
    point = point_at(program, edit)
    value = point.value(text) if point is not None else None
    if point is None or value is None:
        return False
    tests = (atom for one in value.function.nodes for atom, _ in one.guard if isinstance(atom, tuple))
    asked = {one for one in tests if one[:2] == ("isinstance", key(value)) and str(one[2]).endswith("Module")}
    return any((one, True) not in point.guard for one in asked)


def _may_lack_device(program: Program, edit: Edit, text: str) -> bool:
    """Whether what `text` names where the edit stands may be without a device."""
    node, point = node_at(program, edit), point_at(program, edit)
    value = point.value(text) if point is not None else None
    if node is None or point is None or value is None:
        return False
    if f"{text}.device" in program.source.segment(program.source.span(program.names.statement(node))):
        return False  # the statement reads it already: the program fails there without the fix too
    if _is_annotated_with_method(program, value) or _surely_lacks_device(program.placement, value):
        return True
    return may_be_number(value, point.guard) or _may_be_no_tensor(value, point.guard)


def _is_annotated_with_method(program: Program, value: Node) -> bool:
    """Whether a parameter is annotated with a class whose `device` is a method; a decorated one may be a property."""
    said = getattr(value.syntax, "annotation", None)
    owner = program.classes.named(said) if isinstance(said, ast.expr) else None
    method = program.classes.methods(owner).get("device") if owner is not None else None
    return method is not None and not method.decorator_list


def _surely_lacks_device(analysis: Analysis, value: Node) -> bool:
    """Whether a value surely has no device, or has to be called for it."""
    owner = analysis.kinds.class_of(value)
    if owner is not None:
        methods = (one.methods.get("device") for one in analysis.births.imported.lineage(owner))
        return any(one is not None and not one.decorators for one in methods)
    kinds = analysis.kinds
    if kinds.of(value) in _WITHOUT_DEVICE or kinds.is_container(value) or kinds.is_among(value, kinds.itemized):
        return True
    return any(value in _sizes_given(one) for one in value.function.nodes)


def _sizes_given(call: Node) -> Iterator[Node]:
    """`n`, `m` of `range(n)`, `torch.zeros(n, m)`, `torch.zeros((n, m))`: numbers, whatever their annotations say."""
    keywords = call.extra if call.op is Op.CALL and isinstance(call.extra, tuple) else ()
    callee = name(call.args[0]) if keywords else None
    if callee is None or not (callee == "builtins.range" or canonical(callee) in _TAKING_SIZES):
        return
    for one, keyword in zip(call.args[1:], keywords):
        if keyword is None:
            yield from one.args if one.op is Op.SEQUENCE else (one,)


def _may_be_no_tensor(value: Node, guard: Guard) -> bool:
    """Whether the program tests if a value is a tensor, and under `guard` it is none, or no test has been made yet."""
    if value.op is Op.PHI and isinstance(value.extra, tuple):
        others = [(one, each) for one, each in zip(value.args, value.extra) if one.op is not Op.PHI]
        return any(_may_be_no_tensor(one, guard | each) for one, each in others)
    answers = list(_answers_in(guard, value))
    asked = (one for one in value.function.nodes if not contradictory(one.guard, guard))
    return False in answers or (not answers and any(_tests_type(one, value) for one in asked))


def _answers_in(guard: Guard, value: Node) -> Iterator[bool]:
    """The answers to *is this value a tensor?* of the tests in a guard."""
    for atom, holds in guard:
        match atom:
            case ("isinstance", asked, types) if asked == key(value):
                said = _is_of_tensors(str(types))
                yield from () if said is None else (said is holds,)
            case ("call", ("REF", "builtins.hasattr"), asked, _) if asked == key(value):
                yield holds
            case ("call", ("REF", "numpy.isscalar"), asked) if asked == key(value):
                yield not holds


def _tests_type(call: Node, value: Node) -> bool:
    """Whether an operation asks if `value` is a tensor: `isinstance(x, torch.Tensor)`, `type(x) is float`, `hasattr(x,
    "to")`, `is_tensor(x)`."""
    if call.op is Op.COMPARE and len(call.args) == 2:
        match comparison(call)[0]:
            case ("isinstance", asked, types):
                return asked == key(value) and _is_of_tensors(str(types)) is not None
        return False
    if call.op is not Op.CALL or len(call.args) < 2 or key(call.args[1]) != key(value):
        return False
    callee = name(call.args[0])
    if callee == "builtins.isinstance" and len(call.args) == 3:
        types = call.args[2].syntax
        return isinstance(types, ast.expr) and _is_of_tensors(ast.unparse(types)) is not None
    if callee == "builtins.hasattr" and len(call.args) == 3:
        return call.args[2].extra in _TENSOR_ATTRIBUTES
    # `isscalar` may be called on something that stands in for numpy, and then has no qualified name: `xp.isscalar(x)`.
    return callee == "torch.is_tensor" or (callee or str(call.args[0].extra)).endswith("isscalar")


def _is_of_tensors(types: str) -> bool | None:
    """Whether types are tensors alone, or none of them is one; None for others and for a mixture."""
    tensors, others = _TENSOR_TYPES.search(types) is not None, _OTHER_TYPES.search(types) is not None
    return None if tensors is others else tensors
