"""Operations with a tensor of the caller's that only one of the host gets through: what else meets it is there, too."""

import ast
from collections.abc import Mapping, Sequence

from devfix_codemods import scope
from devfix_codemods.findings import Finding
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting, Readout
from devfix_codemods.flow.places import UNKNOWN, Place, may_be_device
from devfix_codemods.flow.values import Kind
from devfix_codemods.program import Program
from devfix_codemods.rules._following import root_name
from devfix_codemods.rules._half_repairs import is_tensor_of_host
from devfix_codemods.rules._surely_host import roots
from devfix_codemods.rules._taken_to_host import is_brought
from devfix_codemods.rules._tensor_words import DEVICES


def contradicted(
    program: Program,
    found: Mapping[tuple[ast.Call, ...], tuple[Sequence[Meeting], Finding | None]],
) -> set[ast.Call]:
    """The factories to be moved whose tensors the code around needs on the host, as it does all that they meet."""
    repaired = {sources: met for sources, (met, one) in found.items() if one is not None and one.fix is not None}
    moved = {call for sources in repaired for call in sources}
    return {
        call
        for sources, meetings in repaired.items()
        if all(_fails_anyhow(program, one, moved) for one in meetings)
        or any(collects_on_host(program, call) for call in sources)
        for call in sources
    }


def collects_on_host(program: Program, call: ast.Call) -> bool:
    """`total = torch.empty(0)`, and `total = torch.cat((total, y.cpu()))` in a loop: it collects on the host.

    So does `torch.cat(rows) if rows else torch.empty(0)`, where rows are brought there.
    """
    if _stands_for_rows_of_host(program, call):
        return True
    function, statement = scope.function_around(program, call), program.names.statement(call)
    around, names = function or program.tree, set(scope.stored(statement))
    for one in scope.loads(around, names):
        parts = program.names.parent(one)
        join = program.names.parent(parts) if isinstance(parts, ast.List | ast.Tuple) else None
        if isinstance(parts, ast.List | ast.Tuple) and isinstance(join, ast.Call):
            name = tables.canonical(program.names.qualified(join.func) or "")
            if name in tables.SEQUENCE_FUNCTIONS and any(is_brought(program, each) for each in parts.elts):
                return True
    return False


def _stands_for_rows_of_host(program: Program, call: ast.Call) -> bool:
    """Whether the tensor takes the place of joined rows that were all copied to the host: `rows.append(y.cpu())`."""
    either, function = program.names.parent(call), scope.function_around(program, call)
    joined = either.body if isinstance(either, ast.IfExp) and either.orelse is call else None
    if function is None or not isinstance(joined, ast.Call) or not joined.args:
        return False
    name = tables.canonical(program.names.qualified(joined.func) or "")
    rows = dotted(joined.args[0]) if name in tables.SEQUENCE_FUNCTIONS else None
    added = [
        one.args[0]
        for one in ast.walk(function)
        if isinstance(one, ast.Call) and one.args and rows is not None and dotted(one.func) == f"{rows}.append"
    ]
    return bool(added) and all(is_brought(program, one) for one in added)


def _fails_anyhow(program: Program, meeting: Meeting, moved: set[ast.Call]) -> bool:
    """Whether each run that comes to a meeting does something else, too, that fails where the anchor is on a device.

    `moved` are the factories that may be moved. What a batch holds, and what is kept for long, other rules move.
    """
    facts, function = program.facts, meeting.context.function
    if may_be_device(meeting.anchor.place) or function is None:
        return False
    beside = (one for one in (*facts.followings, *facts.meetings) if one.certain and one.context.function is function)
    return any(
        _leaves_host(program, one, meeting, moved) or _feeds_host(program, one, meeting, moved) for one in beside
    ) or any(_reads_on_host(program, one, meeting) for one in facts.readouts)


def _feeds_host(program: Program, other: Meeting, meeting: Meeting, moved: set[ast.Call]) -> bool:
    """Whether the same module is always given another tensor that stays on the host: `model(x)` and `model(y)`."""
    sources = other.misplaced.value.sources
    if meeting.anchor.role != "module" or other.anchor.role != "module" or not sources:
        return False
    if not moved.isdisjoint(sources) or ast.dump(other.anchor.node) != ast.dump(meeting.anchor.node):
        return False
    return _always_run_together(program, other.node, meeting.node)


def _leaves_host(program: Program, other: Meeting, meeting: Meeting, moved: set[ast.Call]) -> bool:
    """Whether another operation takes a tensor of the same place together with one that stays on the host."""
    value = other.misplaced.value
    if not is_tensor_of_host(value) or "module" in {one.role for one in (other.anchor, *other.operands)}:
        return False
    if any(one in moved or scope.function_around(program, one) is not None for one in value.sources):
        return False
    if not value.sources and other.node.lineno >= meeting.node.lineno:
        return False  # it may be computed of what will be moved
    return _is_same(program, other, meeting)


def _reads_on_host(program: Program, readout: Readout, meeting: Meeting) -> bool:
    """Whether numpy reads a tensor of the same place as it is, and nothing says that it may have to be copied.

    What is given to a module need not be where the module is, before it is used there.
    """
    operand, anchor = readout.operand, meeting.anchor
    if readout.context.function is not meeting.context.function or readout.listed:
        return False
    if anchor.role == "module" or root_name(anchor.node) == "self" or not _is_tensor(readout):
        return False
    if not _is_one_place(program, operand.place, anchor.place):
        return False
    copied = readout.reader == "numpy" and DEVICES.search(program.source.text) is not None
    return not copied and _always_run_together(program, readout.node, meeting.node)


def _is_tensor(readout: Readout) -> bool:
    return readout.reader == "numpy" or readout.operand.value.kind is Kind.TENSOR


def _is_same(program: Program, other: Meeting, meeting: Meeting) -> bool:
    """Whether the anchors of two operations are in one place, as far as the function says."""
    if not _always_run_together(program, other.node, meeting.node):
        return False
    if meeting.anchor.place != UNKNOWN:
        return _is_one_place(program, other.anchor.place, meeting.anchor.place)
    function = meeting.context.function
    if function is None or not isinstance(meeting.anchor.node, ast.Name) or not isinstance(other.anchor.node, ast.Name):
        return False
    first = roots(function, {other.anchor.node.id}, other.node.lineno)
    return bool(first) and first == roots(function, {meeting.anchor.node.id}, meeting.node.lineno)


def _is_one_place(program: Program, first: Place, second: Place) -> bool:
    return first != UNKNOWN and program.facts.shared(first) == program.facts.shared(second)


def _always_run_together(program: Program, other: ast.expr, node: ast.expr) -> bool:
    """Whether a plain statement is in the block of the operation, or in one around it."""
    statement = program.names.statement(other)
    around = {program.names.statement(node), *program.names.ancestors(node)}
    return scope.is_always_evaluated(program, other) and not around.isdisjoint(scope.block_of(program, statement))
