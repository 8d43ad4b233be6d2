"""The words of a conflict: its message, and a note for each stop of its trail."""

import ast
from collections.abc import Iterator

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.passing import written
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.late_parts import ATTACHED
from devfix_codemods.placement.left_reads import READ
from devfix_codemods.placement.places import Where
from devfix_codemods.placement.search import Conflict
from devfix_codemods.placement.strengths import sort_of
from devfix_codemods.placement.unmoved_copies import COPIED
from devfix_codemods.repairs.points import before
from devfix_codemods.repairs.spelling import spelled

LONGEST = 60
_DEVICE = 40
"""How long the text of a device may be in a message."""


def message(analysis: Analysis, conflict: Conflict) -> str:
    """`y` stays on the host, but meets `model(x)` on `device` in `criterion`."""
    value = f"`{text(conflict.birth.node)}`"
    operation = next(conflict.operations, None)
    holder = analysis.births.unregistered.get(conflict.birth.node)
    if holder is not None:
        kept = f"self.{holder.attribute}"
        what = f"{holder.sort.lower()}s"
        return f"`{kept}` keeps {what} in a plain container: `.to()`, `parameters()` and `state_dict()` miss them"
    if ATTACHED in conflict.birth.links:
        moved = _device(analysis, conflict.end.place.node, conflict.birth.node)
        return f"{value} is put into a module that was moved to {moved} before"
    if operation is None:
        how = "is indexed by" if conflict.is_of_index else "belongs with"
        return f"{value} stays on the host, but {how} {_where(analysis, conflict, None)}"
    other = _met(conflict, operation)
    return f"{value} stays on the host, but meets {_met_where(analysis, conflict, operation, other)}"


def reading(conflict: Conflict, value: str) -> str:
    """`y.mul(2)` may be on a device, but is read on the host."""
    how = "picks from what was copied to the host" if conflict.is_of_copied_table else "is read on the host"
    return f"`{_cut(value)}` may be on a device, but {how}"


def born(conflict: Conflict) -> str:
    """What becomes of the value where the path starts."""
    if conflict.is_of_copied_table:
        return f"`{text(conflict.birth.node)}` picks from what was copied to the host"
    (link, *_) = conflict.birth.links
    how = _BORN_BY_LINK.get(sort_of(link))
    return f"`{text(conflict.birth.node)}` {how or _BORN[conflict.birth.birth]}"


def stops(analysis: Analysis, conflict: Conflict) -> Iterator[tuple[Node, str]]:
    """The operations in which the value meets others, and where the path ends, each with a note."""
    attached = analysis.births.attached.get(conflict.birth.node)
    if attached is not None and attached.use is not None:
        yield attached.use, "its module is used here"
    index = conflict.meeting if conflict.is_of_index else None
    if index is not None and index.before is not None:
        yield index.before.node, "it is indexed here"
    for operation in conflict.operations:
        other = _met(conflict, operation)
        yield operation, f"it meets {_operand(operation, other)} here" if other is not None else "it meets others here"
    yield conflict.end.node, _end(conflict)


def places(analysis: Analysis, conflict: Conflict, operation: Node) -> Iterator[str]:
    """Where the values are that meet in an operation, and since when."""
    nodes = [conflict.birth.node, *(step.node for step in conflict.path)]
    misplaced, other = nodes[nodes.index(operation) - 1], _met(conflict, operation)
    if misplaced in operation.args:
        yield f"{_is(operation, misplaced)} on the host (from line {conflict.birth.node.line})"
    if other is not None and conflict.end.place.where is Where.DEVICE:
        where = _device(analysis, conflict.end.place.node, operation)
        yield f"{_is(operation, other)} on {where} (from line {conflict.end.node.line})"


def _is(operation: Node, operand: Node) -> str:
    found = _operand(operation, operand)
    return f"{found} are" if found.startswith("the parameters") else f"{found} is"


def text(node: Node) -> str:
    """A value as the program writes it, cut where that is long."""
    if isinstance(node.syntax, ast.arg):
        return node.syntax.arg
    syntax = _target(node) if node.op is Op.ITER else node.syntax
    if isinstance(syntax, ast.expr | ast.Assign | ast.AugAssign):
        found = ast.unparse(syntax).replace("\n", " ")
        return found if len(found) <= LONGEST else f"{found[: LONGEST - 3]}..."
    if node.op is Op.PHI:
        return next((text(one) for one in node.args if one.op is not Op.PHI), "it")
    return str(node.extra) if node.extra is not None else "it"


def _target(element: Node) -> ast.AST | None:
    """What a loop binds to an element: `batch` of `for i, batch in enumerate(loader)`."""
    syntax = element.syntax
    if isinstance(syntax, ast.Tuple | ast.List):
        for whole in element.function.nodes:
            if whole.op is Op.SEQUENCE and whole.syntax is syntax and element in whole.args:
                parts = getattr(_target(whole), "elts", ())
                return parts[whole.args.index(element)] if len(parts) == len(whole.args) else syntax
    return syntax


def _met(conflict: Conflict, operation: Node) -> Node | None:
    """The operand that the path goes on with behind an operation."""
    nodes = [conflict.birth.node, *(step.node for step in conflict.path)]
    at = nodes.index(operation)
    following = nodes[at + 1] if at + 1 < len(nodes) else None
    return following if following in operation.args and following is not nodes[at - 1] else None


def _operand(operation: Node, operand: Node) -> str:
    """An operand, as the operation spells it; the callee is the module whose parameters are met."""
    syntax = operation.syntax
    if isinstance(syntax, ast.Call) and operation.op is Op.CALL:
        spelled_out = [syntax.func, *(written(operation) or ())]
        index = operation.args.index(operand)
        found = ast.unparse(spelled_out[index]).replace("\n", " ") if index < len(spelled_out) else text(operand)
        if index == 0:
            return f"the parameters of `{_cut(found)}`"
        return f"`{_cut(found)}`"
    if isinstance(syntax, ast.BinOp) and len(operation.args) == 2:
        side = syntax.left if operation.args[0] is operand else syntax.right
        return f"`{_cut(ast.unparse(side))}`"
    return f"`{text(operand)}`"


def _met_where(analysis: Analysis, conflict: Conflict, operation: Node, other: Node | None) -> str:
    if other is None:
        return _where(analysis, conflict, operation)
    met = _operand(operation, other)
    place = conflict.end.place
    inside = _inside(operation) if operation.args[:1] != (other,) else ""
    if place.where is Where.CALLER and other is not conflict.end.node:
        return f"{met}{inside}, which lives where the caller put `{text(conflict.end.node)}`"
    if place.where is Where.CALLER:
        return f"{met}{inside}, which lives where the caller put it"
    if place.where is Where.MODULE:
        called = operation.op is Op.CALL and other is operation.args[0]
        return met if called else f"{met}{inside}, which lives with the module's own tensors"
    return f"{met} on {_device(analysis, place.node, operation)}{inside}"


def _inside(operation: Node) -> str:
    """In which function they meet; an operator says it by itself."""
    if operation.op is not Op.CALL or not isinstance(operation.syntax, ast.Call):
        return ""
    return f" in `{_cut(ast.unparse(operation.syntax.func))}`"


def _where(analysis: Analysis, conflict: Conflict, operation: Node | None) -> str:
    place = conflict.end.place
    if place.where is Where.CALLER:
        return f"`{text(conflict.end.node)}`, which lives where the caller put it"
    if place.where is Where.MODULE:
        return "the module's own tensors"
    things = "what is" if conflict.birth.birth is Birth.READER else "a value"
    return f"{things} on {_device(analysis, place.node, operation or conflict.birth.node)}"


def _device(analysis: Analysis, device: Node | None, here: Node) -> str:
    """A device under the name that it has at a place."""
    if device is None:
        return "CUDA"
    point = before(here)
    found = spelled(analysis, device, point) if point is not None else None
    found = found if found is not None else text(device)
    return f"`{found}`" if len(found) <= _DEVICE else "a device"


def _end(conflict: Conflict) -> str:
    end, place = conflict.end.node, conflict.end.place
    match place.where:
        case Where.CALLER if conflict.end.links == ("unread",):
            return f"`{text(end)}` comes from elsewhere, and lives where that put it"
        case Where.CALLER:
            return f"`{text(end)}` lives where the caller put it"
        case Where.MODULE:
            return "the module's own tensors are where the module was moved"
    moved = end.args[0] if end.op is Op.AFTER else _moved(end)
    if moved is not None:
        return f"`{text(moved)}` is moved here"
    if end.op is Op.PARAM:
        return f"callers have `{text(end)}` on a device"
    return f"`{text(end)}` is made on a device here"


def _moved(node: Node) -> Node | None:
    """What a call of `.to` or `.cuda` moves."""
    if node.op is Op.CALL and node.args[0].op is Op.ATTR and node.args[0].extra in {"to", "cuda", "mps", "xpu", "npu"}:
        return node.args[0].args[0]
    return None


def _cut(found: str) -> str:
    """A text on one line, cut where it is long."""
    found = " ".join(found.split())
    return found if len(found) <= LONGEST else f"{found[: LONGEST - 3]}..."


_BORN_BY_LINK = {
    "dataset-item": "comes from the data set here, on the host",
    READ: "is moved where others read it, and not here",
    COPIED: "is put into the copy as it is",
}
_BORN = {
    Birth.FACTORY: "is made here, on the host",
    Birth.ARRAY: "is made here, on the host",
    Birth.LOADER: "comes from the loader here, on the host",
    Birth.SIBLING: "comes together with what is moved, but stays on the host",
    Birth.ENCODING: "is made here, on the host",
    Birth.MODULE: "is made here, on the host",
    Birth.READER: "is read by numpy, which needs the host",
}
