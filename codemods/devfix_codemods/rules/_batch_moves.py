"""How an element of a batch is moved: beside its siblings and in their style, else where the loop yields it."""

import ast
from collections.abc import Sequence
from typing import Literal

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting, Move, Operand
from devfix_codemods.flow.places import may_be_device
from devfix_codemods.flow.values import BatchItem, Kind, Value
from devfix_codemods.program import Program
from devfix_codemods.rules._guarded import suffix_at
from devfix_codemods.rules._moves import Mover, copied_suffix, mover_for, roots, text_of, within


def sibling_moves(program: Program, meeting: Meeting, batch: BatchItem) -> list[Move]:
    """Moves of other elements of the same batch above the operation, in source order, that a copy may follow."""
    sink = _sink(program, meeting)
    found = [
        one
        for one in program.facts.moves
        if one.value.batch is not None
        and one.value.batch.token == batch.token
        and one.value.batch.path != batch.path
        and (may_be_device(one.target) or _goes_to_module(one))
        and copied_suffix(program, one.node) is not None
        and one.node.lineno <= sink.lineno
    ]
    return sorted(found, key=lambda one: (one.node.lineno, one.node.col_offset))


def _goes_to_module(move: Move) -> bool:
    """`x.to(next(self.parameters()).device)`, wherever that is."""
    parts = (part for one in scope.given_to(move.node) for part in ast.walk(one))
    return any(isinstance(one, ast.Attribute) and one.attr == "parameters" for one in parts)


def is_moved_by_parts(program: Program, meeting: Meeting, batch: BatchItem) -> bool:
    """Whether lines above the operation move items of the batch and put them back: `batch["x"] = batch["x"].to(d)`.

    Where it is not known what else is in it, those are all that need it.
    """
    if batch.path or not only_passed_on(meeting):
        return False
    moves = [one for one in sibling_moves(program, meeting, batch) if _is_put_back(program, one)]
    known = program.facts.batches.get(batch.token)
    keys = {key for key, value in known.items or () if value.kind is not Kind.STRING} if known is not None else set()
    moved = {one.value.batch.path[0] for one in moves if one.value.batch is not None}
    return bool(moved) and keys <= moved


def _is_put_back(program: Program, move: Move) -> bool:
    statement = program.names.statement(move.node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    parts = [part for one in targets for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    return any(isinstance(one, ast.Subscript) and ast.unparse(one) == ast.unparse(move.receiver) for one in parts)


def element_fix(
    program: Program, meeting: Meeting, meetings: list[Meeting], batch: BatchItem, moves: list[Move]
) -> Fix | None:
    """The element moved before the operation of `meeting`; `meetings` are all that it takes part in."""
    mover = _mover(program, meeting, moves)
    if not batch.path and only_passed_on(meeting) and not any(not only_passed_on(one) for one in meetings):
        return _mapping_fix(program, meeting, mover)
    if mover is None:
        return _to_the_tensors(program, meetings, moves)
    name = name_of(program, meeting)
    edits = _edits(program, meeting, meetings, moves, mover)
    if edits is None:
        return None
    title = f"Move `{name}` to `{mover.device}`" + (
        f", as `{text_of(program, moves[-1].receiver)}` is" if moves else ""
    )
    return Fix(max(mover.safety, _safety(meetings, moves), key=list(Safety).index), title, (*mover.edits, *edits))


def _to_the_tensors(program: Program, meetings: list[Meeting], moves: list[Move]) -> Fix | None:
    """The element moved in each operation to the tensor that it meets, where no name says where that is."""
    if not all(isinstance(one.misplaced.node, ast.Name) and _is_unchosen(one.anchor) for one in meetings):
        return None
    edits = tuple(
        ReplaceExpression(program.source.span(one.misplaced.node), f"__node__.to({dotted(one.anchor.node)}.device)")
        for one in meetings
    )
    title = f"Move `{name_of(program, meetings[0])}` to the device of `{dotted(meetings[0].anchor.node)}`"
    return Fix(_safety(meetings, moves), title, edits)


def _is_unchosen(operand: Operand) -> bool:
    """Whether an operand is a tensor with a name, and lives where another value does."""
    named = operand.value.kind is Kind.TENSOR and dotted(operand.node) is not None
    return named and not may_be_device(operand.place)


def whole_batch(program: Program, meeting: Meeting, batch: BatchItem, moves: list[Move]) -> Fix | None:
    """A mapping whose items are all known to be tensors, none of them moved yet: moved as one."""
    root = _root_of(program, meeting)
    if root is None or moves:
        return None
    items, start = root
    if not items or any(one.kind is not Kind.TENSOR for one in items):
        return None
    mover = _mover(program, meeting, moves)
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


def birth_node(meeting: Meeting) -> ast.AST:
    """Where the misplaced element was yielded."""
    origin = meeting.misplaced.value.origin
    assert origin is not None
    return origin.node


def name_of(program: Program, meeting: Meeting) -> str:
    """What messages call the misplaced element."""
    origin = meeting.misplaced.value.origin
    return origin.name if origin and origin.name else text_of(program, meeting.misplaced.node)


def device_in(suffix: str) -> str:
    """The device expression of a move's text."""
    tree = ast.parse(f"_{suffix}", mode="eval").body
    if isinstance(tree, ast.Call):
        argument = next(
            (one.value for one in tree.keywords if one.arg == "device"), tree.args[0] if tree.args else None
        )
        if argument is not None:
            return ast.unparse(argument).strip("'\"")
    return "cuda"


def only_passed_on(meeting: Meeting) -> bool:
    """Whether nothing but being an argument of a module says that the value is a tensor."""
    through_module = any(
        one.role == "module" and not (one.value.qualified or "").startswith("torch.nn.") for one in meeting.operands
    )
    return through_module and meeting.misplaced.value.kind is not Kind.TENSOR


def _safety(meetings: list[Meeting], moves: list[Move]) -> Safety:
    certain = moves or any(not only_passed_on(one) for one in meetings)
    return Safety.SAFE if certain else Safety.UNSAFE


def _mover(program: Program, meeting: Meeting, moves: list[Move]) -> Mover | None:
    """The siblings' style; else a move like it in the file's other loops; else a new one by the rules of section 3."""
    if moves:
        suffix = copied_suffix(program, moves[-1].node)
        assert suffix is not None
        return Mover(suffix, device_in(suffix))
    start = program.names.statement(birth_node(meeting))
    return mover_for(program, meeting, start, blocking=_file_blocks(program))


def _file_blocks(program: Program) -> bool:
    """Whether the file moves batches elsewhere without `non_blocking`: then this move does too."""
    others = [one for one in program.facts.moves if one.value.batch is not None and may_be_device(one.target)]
    return bool(others) and not any(key.arg == "non_blocking" for one in others for key in one.node.keywords)


def _edits(
    program: Program, meeting: Meeting, meetings: list[Meeting], moves: list[Move], mover: Mover
) -> tuple[Edit, ...] | None:
    birth = birth_node(meeting)
    own = scope.function_around(program, birth)
    sinks = [one.misplaced.node for one in meetings if one.context.function is own]
    if not isinstance(birth, ast.Name):
        found = _at_expressions(program, [birth], moves, mover)
        return (
            found
            or _under_guard(program, meeting, birth, moves, mover)
            or _at_expressions(program, sinks, moves, mover)
        )
    evidence = program.facts.evidence[meeting.context.function or program.tree]
    inline = bool(moves) and not any(_is_own_assignment(program, one) for one in moves)
    if birth.id in evidence.numpy or (inline and sinks):
        return _at_expressions(program, sinks, moves, mover) if len(sinks) == len(meetings) else None
    edit = _inserted(program, meeting, birth, moves, mover)
    if edit is not None:
        return (edit,)
    return _at_expressions(program, sinks, moves, mover)


def _under_guard(
    program: Program, meeting: Meeting, birth: ast.AST, moves: list[Move], mover: Mover
) -> tuple[Edit, ...] | None:
    """`y = y.cuda()` beside a sibling that stands under a guard, for `y = data[1]` above the guard."""
    match program.names.statement(birth):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) as start if value is birth and moves:
            beside = _beside(program, meeting, scope.block_of(program, start), moves)
            suffix = _suffix_at(program, beside, "after", moves, mover) if beside is not None else None
            if beside is not None and beside.lineno > start.lineno and suffix is not None:
                return (InsertStatement(program.source.span(beside), "after", f"{name} = {name}{suffix}"),)
    return None


def _inserted(
    program: Program, meeting: Meeting, birth: ast.Name, moves: list[Move], mover: Mover
) -> InsertStatement | None:
    """`y = y.to(device)` on a line of its own, if it can stand anywhere."""
    anchor = _insertion(program, meeting, birth, moves, mover)
    if anchor is None:
        return None
    statement, where = anchor
    suffix = _suffix_at(program, statement, where, moves, mover)
    if suffix is None:
        return None
    rank = (birth.lineno, birth.col_offset)
    return InsertStatement(program.source.span(statement), where, f"{birth.id} = {birth.id}{suffix}", rank)


def _suffix_at(
    program: Program, statement: ast.stmt, where: Literal["before", "after"], moves: list[Move], mover: Mover
) -> str | None:
    """What moves at a statement: as the sibling does, unless that is under a guard which the statement is not."""
    if not moves:
        return mover.suffix
    move = moves[-1]
    return suffix_at(program, mover.suffix, move.node, statement, move.context.sites, after=where == "after")


def _is_own_assignment(program: Program, move: Move) -> bool:
    """`x = x.to(device)`, or the tuple form: a line of its own, beside which another may stand."""
    statement = program.names.statement(move.node)
    if not isinstance(statement, ast.Assign):
        return False
    targets = {node.id for one in statement.targets for node in ast.walk(one) if isinstance(node, ast.Name)}
    names = {node.id for node in ast.walk(move.receiver) if isinstance(node, ast.Name)}
    return bool(targets & names) or isinstance(move.receiver, (ast.Subscript, ast.Attribute))


def _at_expressions(
    program: Program, nodes: Sequence[ast.AST], moves: list[Move], mover: Mover
) -> tuple[Edit, ...] | None:
    if not nodes or not all(isinstance(node, (ast.Subscript, ast.Attribute, ast.Name, ast.Call)) for node in nodes):
        return None
    suffixes = [_suffix_at(program, program.names.statement(node), "before", moves, mover) for node in nodes]
    if None in suffixes:
        return None
    return tuple(
        ReplaceExpression(program.source.span(node), f"__node__{suffix}") for node, suffix in zip(nodes, suffixes)
    )


def _insertion(
    program: Program, meeting: Meeting, birth: ast.Name, moves: list[Move], mover: Mover
) -> tuple[ast.stmt, Literal["before", "after"]] | None:
    """Beside the last sibling's line that surely runs before the operation; else where the element gets its name."""
    sink = _sink(program, meeting)
    start = program.names.statement(birth)
    block = start.body if isinstance(start, (ast.For, ast.AsyncFor)) else scope.block_of(program, start)
    beside = _beside(program, meeting, block, moves)
    if beside is not None:
        return beside, "after"
    if roots(mover.suffix) & _stored_between(block, sink):
        return None
    if isinstance(start, (ast.For, ast.AsyncFor)):
        return start.body[0], "before"
    return (start, "after") if isinstance(start, ast.Assign) else None


def _beside(program: Program, meeting: Meeting, block: list[ast.stmt], moves: list[Move]) -> ast.stmt | None:
    """The line of the last sibling that runs before the operation, wherever that sibling is moved at all."""
    lines = [program.names.statement(one.node) for one in moves]
    sink = _sink(program, meeting)
    for one, line in zip(reversed(moves), reversed(lines)):
        if _is_own_assignment(program, one) and _runs_before(program, line, block, sink, lines):
            return line
    return None


def _sink(program: Program, meeting: Meeting) -> ast.stmt:
    """The statement of the operation in the element's own function: where it lies in a callee, that of the call."""
    function = scope.function_around(program, birth_node(meeting))
    for node in (*meeting.context.sites, meeting.node):
        if scope.function_around(program, node) is function:
            return program.names.statement(node)
    return program.names.statement(meeting.node)


def _runs_before(
    program: Program, statement: ast.stmt, block: list[ast.stmt], sink: ast.stmt, moves: list[ast.stmt]
) -> bool:
    """In the loop's own block, or in guards that lie in it; above the operation. No guard if each branch moves."""
    outer: ast.AST | None = statement
    while isinstance(outer, ast.stmt) and outer not in block:
        guard = program.names.parent(outer)
        if not isinstance(guard, ast.If):
            return False
        others = guard.orelse if outer in guard.body else guard.body
        if any(within(program, one, each) for each in others for one in moves):
            return False
        outer = guard
    return isinstance(outer, ast.stmt) and statement.lineno < sink.lineno


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
    birth, call = birth_node(meeting), meeting.node
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
