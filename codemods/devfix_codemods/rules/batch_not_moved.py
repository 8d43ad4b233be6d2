"""A tensor from a data loader never reaches the model's device.

## What it does

Finds elements of a loader's batch that stay on the host while the model, the loss or the other elements of the same
batch are on a device, and moves them where their siblings are moved, in the same style.

## Why it fails

Workers collate batches on the host. What the loop does not move stays there, and the first operation that needs both
raises

    RuntimeError: Expected all tensors to be on the same device, but got target is on cpu, different from other tensors
    on cuda:0 (when checking argument in method wrapper_CUDA_nll_loss_forward)

(before torch 2.8: `… but found at least two devices, cuda:0 and cpu!`).

## Before

    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        loss = criterion(model(images), labels)

## After

    for images, labels in loader:
        images = images.to(device, non_blocking=True)
        labels = labels.to(device, non_blocking=True)
        loss = criterion(model(images), labels)

## Fix safety

Safe where the element is known to be a tensor: a sibling of the same batch is moved, or it enters a loss, tensor
arithmetic, or is used as a tensor elsewhere. A move to where a tensor already is does nothing. Unsafe where a `device`
must be declared first, where the only evidence is that the element is passed to a model, and where another branch moves
it. Elements that look like
text or lengths, code that Lightning, Accelerate or DeepSpeed place, datasets and collate functions are left alone.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator, Sequence
from typing import Literal

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting, Move
from devfix_codemods.flow.places import Host, may_be_device
from devfix_codemods.flow.tables import sounds_like_length, sounds_like_text
from devfix_codemods.flow.values import BatchItem, Birth, Kind, Value
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._inline_moves import inline_moves, moves_inside_calls
from devfix_codemods.rules._looks import moves_loop_items
from devfix_codemods.rules._moves import (
    Mover,
    copied_suffix,
    device_words,
    insertable,
    mover_for,
    names_at,
    roots,
    text_of,
    within,
)
from devfix_codemods.rules._one_branch import Forgotten, forgotten_moves, moves_in_one_branch
from devfix_codemods.rules._partial_moves import PartialMove, moves_tuples, partial_moves


def check(program: Program) -> Iterator[Finding]:
    if moves_tuples(program.source.data):
        yield from (_of_helper(program, one) for one in partial_moves(program))
    if moves_in_one_branch(program.source.data) and not program.unit.traits.managed:
        yield from (_of_branch(program, one) for one in forgotten_moves(program))
    if moves_inside_calls(program.source.data) and not program.unit.traits.managed:
        yield from (_of_branch(program, one) for one in inline_moves(program))
    if not program.outline.moves_loop_items:
        return
    groups: dict[tuple[ast.AST, str], list[Meeting]] = {}
    for meeting in program.facts.meetings:
        batch = meeting.misplaced.value.batch
        if batch is None or meeting.misplaced.role == "module" or not insertable(meeting.context):
            continue
        if _is_element(meeting) and not _looks_untouchable(program, meeting) and not _moved_in_vain(program, batch):
            groups.setdefault((_birth_node(meeting), _name(program, meeting)), []).append(meeting)
    whole: set[str] = set()
    for meetings in groups.values():
        finding = _finding(program, meetings, whole)
        if finding is not None:
            yield finding


def _of_helper(program: Program, partial: PartialMove) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{partial.function.name}` moves the items of a tuple, but returns a list as it is",
        span=program.source.span(partial.branch.test),
        fix=Fix(Safety.UNSAFE, "Move the items of a list as well", (partial.edit,)),
    )


def _of_branch(program: Program, one: Forgotten) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{one.name}` is moved to `{one.device}` on another path, and stays where it is on this one",
        span=program.source.span(one.node),
        trail=(Step(program.source.span(one.move), "it is moved here"),),
        fix=Fix(Safety.UNSAFE, f"Move `{one.name}` to `{one.device}` on this path too", one.edits),
    )


def _looks(data: bytes) -> bool:
    return moves_tuples(data) or moves_in_one_branch(data) or moves_loop_items(data)


def _moved_in_vain(program: Program, batch: BatchItem) -> bool:
    """A move of this element whose result is thrown away: that line is the bug, and another rule's."""
    return any(
        not one.result_used
        and one.value.batch is not None
        and one.value.batch.token == batch.token
        and one.value.batch.path in {batch.path, (*batch.path[:-1], "*"), ()}
        for one in program.facts.moves
    )


def _is_element(meeting: Meeting) -> bool:
    origin = meeting.misplaced.value.origin
    return origin is not None and origin.birth is Birth.LOADER


def _birth_node(meeting: Meeting) -> ast.AST:
    origin = meeting.misplaced.value.origin
    assert origin is not None
    return origin.node


def _name(program: Program, meeting: Meeting) -> str:
    origin = meeting.misplaced.value.origin
    return origin.name if origin and origin.name else text_of(program, meeting.misplaced.node)


def _looks_untouchable(program: Program, meeting: Meeting) -> bool:
    """Text, lengths, and whatever only a model call speaks for without a moved sibling."""
    value = meeting.misplaced.value
    name = _last_word(_name(program, meeting), meeting)
    if value.kind is Kind.STRING:
        return True
    function = meeting.context.function or program.tree
    evidence = program.facts.evidence[function]
    if name in evidence.texts | evidence.plain and value.kind is not Kind.TENSOR:
        return True
    loaded = isinstance(meeting.misplaced.place, Host) or (value.batch is not None and value.batch.loaded)
    if not loaded and not _enters_call(meeting):
        return True
    if not _only_passed_on(meeting):
        return False
    if name in program.facts.evidence[program.tree].iterated:
        return True  # a list, here or in a sibling function
    return sounds_like_text(name) or sounds_like_length(name) or not _has_counterpart(program, meeting, name)


def _has_counterpart(program: Program, meeting: Meeting, name: str) -> bool:
    """Something moved speaks for the element: a sibling, one of its name in another loop, or the loader's kind."""
    batch = meeting.misplaced.value.batch
    if batch is None or isinstance(meeting.misplaced.place, Host):
        return True
    moved = [one for one in program.facts.moves if one.value.batch is not None and may_be_device(one.target)]
    return any(one.value.batch.token == batch.token or dotted(one.receiver) == name for one in moved if one.value.batch)


def _enters_call(meeting: Meeting) -> bool:
    """Whether a module or a loss gets the element: arithmetic alone would also do for the numbers of a plain list."""
    return isinstance(meeting.node, ast.Call) and not meeting.operation.startswith("`.")


def _last_word(name: str, meeting: Meeting) -> str:
    path = meeting.misplaced.value.batch.path if meeting.misplaced.value.batch else ()
    return str(path[-1]) if path and isinstance(path[-1], str) and not name.isidentifier() else name


def _only_passed_on(meeting: Meeting) -> bool:
    """Whether nothing but being an argument of a module says that the value is a tensor."""
    through_module = any(
        one.role == "module" and not (one.value.qualified or "").startswith("torch.nn.") for one in meeting.operands
    )
    return through_module and meeting.misplaced.value.kind is not Kind.TENSOR


def _finding(program: Program, meetings: list[Meeting], whole: set[str]) -> Finding | None:
    """One element, and all operations in which it meets what was moved. `whole` are batches moved as one already."""
    meeting = _nearest(program, meetings)
    batch = meeting.misplaced.value.batch
    assert batch is not None
    if batch.token in whole:
        return None
    name = _name(program, meeting)
    moves = _sibling_moves(program, meeting, batch)
    if len({_device_in(copied_suffix(program, one.node) or "") for one in moves}) > 1:
        return None
    fix = _whole_batch(program, meeting, batch, moves)
    if fix is not None:
        whole.add(batch.token)
    else:
        fix = _fix(program, meeting, meetings, batch, moves)
    origin = program.source.span(_origin_node(meeting))
    trail = [Step(origin, f"`{name}` comes from the loader here, on the host")]
    trail.extend(_sibling_step(program, one) for one in moves[-1:])
    anchor = text_of(program, meeting.anchor.node)
    trail.append(
        Step(program.source.span(meeting.misplaced.node), f"it meets `{anchor}`, {device_words(meeting)}, here")
    )
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` stays on the host, but meets `{anchor}` {device_words(meeting)} in {meeting.operation}",
        span=program.source.span(meeting.node),
        origin=origin,
        trail=tuple(trail),
        fix=fix,
        advice=None if fix else f"move `{name}` to the device of `{anchor}` before this line",
    )


def _sibling_step(program: Program, move: Move) -> Step:
    return Step(program.source.span(move.node), f"its sibling `{text_of(program, move.receiver)}` is moved here")


def _nearest(program: Program, meetings: list[Meeting]) -> Meeting:
    """The operation in the element's own function, where there is one: its names are those that a fix may use."""
    birth = _birth_node(meetings[0])
    function = scope.function_around(program, birth)
    return next((one for one in meetings if one.context.function is function), meetings[0])


def _sink(program: Program, meeting: Meeting) -> ast.stmt:
    """The statement of the operation in the element's own function: where it lies in a callee, that of the call."""
    function = scope.function_around(program, _birth_node(meeting))
    for node in (*meeting.context.sites, meeting.node):
        if scope.function_around(program, node) is function:
            return program.names.statement(node)
    return program.names.statement(meeting.node)


def _origin_node(meeting: Meeting) -> ast.AST:
    """Where the element gets its name: never a whole loop."""
    node = _birth_node(meeting)
    return node.iter if isinstance(node, (ast.For, ast.AsyncFor)) else node


def _sibling_moves(program: Program, meeting: Meeting, batch: BatchItem) -> list[Move]:
    """Moves of other elements of the same batch above the operation, in source order, that a copy may follow."""
    sink = _sink(program, meeting)
    found = [
        one
        for one in program.facts.moves
        if one.value.batch is not None
        and one.value.batch.token == batch.token
        and one.value.batch.path != batch.path
        and may_be_device(one.target)
        and copied_suffix(program, one.node) is not None
        and one.node.lineno <= sink.lineno
    ]
    return sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset))


def _fix(
    program: Program, meeting: Meeting, meetings: list[Meeting], batch: BatchItem, moves: list[Move]
) -> Fix | None:
    mover = _mover(program, meeting, batch, moves)
    if not batch.path and _only_passed_on(meeting) and not any(not _only_passed_on(one) for one in meetings):
        return _mapping_fix(program, meeting, mover)
    if mover is None:
        return None
    name = _name(program, meeting)
    edits = _edits(program, meeting, meetings, batch, moves, mover)
    if edits is None:
        return None
    title = f"Move `{name}` to `{mover.device}`" + (
        f", as `{text_of(program, moves[-1].receiver)}` is" if moves else ""
    )
    return Fix(max(mover.safety, _safety(meetings, moves), key=list(Safety).index), title, (*mover.edits, *edits))


def _whole_batch(program: Program, meeting: Meeting, batch: BatchItem, moves: list[Move]) -> Fix | None:
    """A mapping whose items are all known to be tensors, none of them moved yet: moved as one."""
    root = _root_of(program, meeting)
    if root is None or moves:
        return None
    items, start = root
    if not items or any(one.kind is not Kind.TENSOR for one in items):
        return None
    mover = _mover(program, meeting, batch, moves)
    if mover is None or not isinstance(start.target, ast.Name):
        return None
    name = start.target.id
    code = f"{name} = {{k: v{mover.suffix} for k, v in {name}.items()}}"
    edit = InsertStatement(program.source.span(start.body[0]), "before", code)
    return Fix(mover.safety, f"Move every tensor of `{name}` to `{mover.device}`", (*mover.edits, edit))


def _root_of(program: Program, meeting: Meeting) -> tuple[list[Value], ast.For] | None:
    """The items of the mapping that the loop yields, where the element is one of them."""
    batch = meeting.misplaced.value.batch
    assert batch is not None
    loop = batch.statement
    known = program.facts.batches.get(batch.token)
    if known is None or known.kind is not Kind.MAPPING or known.items is None or not isinstance(loop, ast.For):
        return None
    return [value for _, value in known.items], loop


def _safety(meetings: list[Meeting], moves: list[Move]) -> Safety:
    certain = moves or any(not _only_passed_on(one) for one in meetings)
    return Safety.SAFE if certain else Safety.UNSAFE


def _mover(program: Program, meeting: Meeting, batch: BatchItem, moves: list[Move]) -> Mover | None:
    """The siblings' style; else a move like it in the file's other loops; else a new one by the rules of section 3."""
    if moves:
        suffix = copied_suffix(program, moves[-1].node)
        assert suffix is not None
        return Mover(suffix, _device_in(suffix))
    start = program.names.statement(_birth_node(meeting))
    return mover_for(program, meeting, names_at(program, start, meeting), blocking=_file_blocks(program))


def _device_in(suffix: str) -> str:
    """The device expression of a move's text."""
    tree = ast.parse(f"_{suffix}", mode="eval").body
    if isinstance(tree, ast.Call):
        argument = next(
            (one.value for one in tree.keywords if one.arg == "device"), tree.args[0] if tree.args else None
        )
        if argument is not None:
            return ast.unparse(argument).strip("'\"")
    return "cuda"


def _file_blocks(program: Program) -> bool:
    """Whether the file moves batches elsewhere without `non_blocking`: then this move does too."""
    others = [one for one in program.facts.moves if one.value.batch is not None and may_be_device(one.target)]
    return bool(others) and not any(key.arg == "non_blocking" for one in others for key in one.node.keywords)


def _edits(
    program: Program,
    meeting: Meeting,
    meetings: list[Meeting],
    batch: BatchItem,
    moves: list[Move],
    mover: Mover,
) -> tuple[Edit, ...] | None:
    birth = _birth_node(meeting)
    if not isinstance(birth, ast.Name):
        return _at_expressions(program, [birth], mover)
    evidence = program.facts.evidence[meeting.context.function or program.tree]
    inline = bool(moves) and not any(_is_own_assignment(program, one) for one in moves)
    own = scope.function_around(program, birth)
    sinks = [one.misplaced.node for one in meetings if one.context.function is own]
    if birth.id in evidence.numpy or (inline and sinks):
        return _at_expressions(program, sinks, mover) if len(sinks) == len(meetings) else None
    anchor = _insertion(program, meeting, birth, moves, mover)
    if anchor is None:
        return _at_expressions(program, sinks, mover) if sinks else None
    statement, where = anchor
    rank = (birth.lineno, birth.col_offset)
    return (InsertStatement(program.source.span(statement), where, f"{birth.id} = {birth.id}{mover.suffix}", rank),)


def _is_own_assignment(program: Program, move: Move) -> bool:
    """`x = x.to(device)`, or the tuple form: a line of its own, beside which another may stand."""
    statement = program.names.statement(move.node)
    if not isinstance(statement, ast.Assign):
        return False
    targets = {node.id for one in statement.targets for node in ast.walk(one) if isinstance(node, ast.Name)}
    names = {node.id for node in ast.walk(move.receiver) if isinstance(node, ast.Name)}
    return bool(targets & names) or isinstance(move.receiver, (ast.Subscript, ast.Attribute))


def _at_expressions(program: Program, nodes: Sequence[ast.AST], mover: Mover) -> tuple[Edit, ...] | None:
    if not nodes or not all(isinstance(node, (ast.Subscript, ast.Attribute, ast.Name, ast.Call)) for node in nodes):
        return None
    return tuple(ReplaceExpression(program.source.span(node), f"__node__{mover.suffix}") for node in nodes)


def _insertion(
    program: Program, meeting: Meeting, birth: ast.Name, moves: list[Move], mover: Mover
) -> tuple[ast.stmt, Literal["before", "after"]] | None:
    """Beside the last sibling's line that surely runs before the operation; else where the element gets its name."""
    sink = _sink(program, meeting)
    start = program.names.statement(birth)
    block = start.body if isinstance(start, (ast.For, ast.AsyncFor)) else scope.block_of(program, start)
    beside = [program.names.statement(one.node) for one in moves if _is_own_assignment(program, one)]
    beside = [one for one in beside if _runs_before(program, one, block, sink)]
    if beside:
        return beside[-1], "after"
    if roots(mover.suffix) & _stored_between(block, sink):
        return None
    if isinstance(start, (ast.For, ast.AsyncFor)):
        return start.body[0], "before"
    return (start, "after") if isinstance(start, ast.Assign) else None


def _runs_before(program: Program, statement: ast.stmt, block: list[ast.stmt], sink: ast.stmt) -> bool:
    """In the loop's own block, or in a guard that lies in it; and above the operation."""
    guard = program.names.parent(statement)
    inside = statement in block or (isinstance(guard, ast.If) and guard in block and statement in guard.body)
    return inside and statement.lineno < sink.lineno


def _stored_between(block: list[ast.stmt], sink: ast.stmt) -> set[str]:
    """Names that are bound in the block before the operation: a device among them is not there yet at its start."""
    found: set[str] = set()
    for statement in block:
        if statement.lineno >= sink.lineno:
            break
        found |= scope.stored(statement)
    return found


def _mapping_fix(program: Program, meeting: Meeting, mover: Mover | None) -> Fix | None:
    """`model(**batch)`: the whole mapping is moved where the loop yields it."""
    birth, call = _birth_node(meeting), meeting.node
    unpacked = isinstance(call, ast.Call) and any(
        one.arg is None and one.value is meeting.misplaced.node for one in call.keywords
    )
    moved = any(one.value.batch is not None and may_be_device(one.target) for one in program.facts.moves)
    if mover is None or not isinstance(birth, ast.Name) or not unpacked or not moved:
        return None
    start = program.names.statement(birth)
    if not isinstance(start, (ast.For, ast.AsyncFor)) or not within(program, call, start):
        return None
    name = birth.id
    code = f"{name} = {{k: v{mover.suffix} if hasattr(v, 'to') else v for k, v in {name}.items()}}"
    edit = InsertStatement(program.source.span(start.body[0]), "before", code)
    return Fix(Safety.UNSAFE, f"Move every tensor of `{name}` to `{mover.device}`", (*mover.edits, edit))


RULE = Rule(
    "DVF101",
    "batch-not-moved",
    (
        (b"for ", b".to("),
        (b"for ", b".cuda("),
        (b"next(", b".to("),
        (b"next(", b".cuda("),
        (b"oader", b".backward("),
        (b", tuple):", b".to("),
        (b"if not ", b".to("),
    ),
    check,
    looks=_looks,
)
