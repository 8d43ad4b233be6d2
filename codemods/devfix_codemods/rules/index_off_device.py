"""A mask or an index on a device goes into a tensor on the host.

## What it does

Finds tensors on the host that are indexed by masks or indices that live elsewhere, and makes the indexed tensor where
its index is. A tensor that the program keeps on the host is left there: its index is brought to it.

## Why it fails

A host index into a device tensor is allowed; the reverse is not:

    RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)

## Before

    def match(scores, threshold):
        ids = torch.arange(scores.size(0))
        return ids[scores > threshold]

## After

    def match(scores, threshold):
        ids = torch.arange(scores.size(0), device=scores.device)
        return ids[scores > threshold]

## Fix safety

Safe: the operation fails today wherever the index is on a device, and where it is on the host, nothing changes. An
index is brought to the host only where it is known to be on a device; where it may be on the host too, that is advice.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator, Set

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.places import HOST, Symbol, may_be_device
from devfix_codemods.flow.values import Kind
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _division, _following, _looks
from devfix_codemods.rules._attributes import births
from devfix_codemods.rules._cuda_only import is_test
from devfix_codemods.rules._host_company import makes_another_on_host
from devfix_codemods.rules._host_functions import is_for_host_at
from devfix_codemods.rules._moves import text_of
from devfix_codemods.rules._moving_helpers import moves
from devfix_codemods.rules._sure_whereabouts import SureWhereabouts
from devfix_codemods.rules._whereabouts import Made, returned_by


def check(program: Program) -> Iterator[Finding]:
    outline = program.outline
    if not (outline.makes_tensors or outline.brings_to_host or outline.moves_loop_items):
        return
    seen = set()
    repaired = {one for each in _meetings(program) if _fix_where_made(program, each) for one in births(each)}
    for meeting in _meetings(program):
        indexed = meeting.misplaced
        if meeting.context.worker:
            continue
        if _is_parameter(program, indexed.node) or _is_of_callers(program, meeting):
            continue  # where it lives is for the callers to say
        if _is_own_mask(meeting) or _is_stored_here(program, meeting) or _is_under_construction(program, meeting):
            continue
        if _is_one_element(program, meeting.anchor.node) or _is_moved_below(program, meeting):
            continue
        if (
            _is_for_host(program, meeting)
            or _may_come_from_host(program, meeting)
            or _is_read_by_numpy(program, meeting)
        ):
            continue
        if _fix_where_made(program, meeting) is None and (
            indexed.place != HOST  # on another path it may be where its index is
            or not repaired.isdisjoint(births(meeting))
            or _is_needed_elsewhere(program, meeting)
            or _met_the_host(program, meeting)
            or _goes_back(program, meeting)
        ):
            continue
        if meeting.node not in seen and _division.code_for(program, meeting) == RULE.code:
            seen.add(meeting.node)
            yield _finding(program, meeting)


def _meetings(program: Program) -> Iterator[Meeting]:
    """Those of tensors that an index of another place reads."""
    followings = () if is_test(program) else program.facts.followings  # who runs a test chose the machine
    for meeting in (*program.facts.meetings, *followings):
        if meeting.misplaced.role == "indexed" and meeting.misplaced.value.kind is Kind.TENSOR:
            yield meeting


def _is_needed_elsewhere(program: Program, meeting: Meeting) -> bool:
    """Whether the indexed tensor also meets others in operations that need it where they are."""
    made = meeting.misplaced.value.sources
    return bool(made) and any(
        one.misplaced.role != "indexed" and one.misplaced.value.sources == made
        for one in (*program.facts.meetings, *program.facts.followings)
    )


def _met_the_host(program: Program, meeting: Meeting) -> bool:
    """Whether the index was computed with a tensor that stays on the host: then it is there itself."""
    if may_be_device(meeting.anchor.place):
        return False
    function, roots = scope.function_around(program, meeting.node), set(scope.reads(meeting.anchor.node))
    if function is None:
        return False
    for one in program.facts.followings:
        if one.node is meeting.node or scope.function_around(program, one.node) is not function:
            continue
        statement, made = program.names.statement(one.node), one.misplaced.value.sources
        elsewhere = all(scope.function_around(program, each) is not function for each in made)
        if one.misplaced.place == HOST and elsewhere and not roots.isdisjoint(scope.stored(statement)):
            return True
    return False


def _is_for_host(program: Program, meeting: Meeting) -> bool:
    """Whether nothing that a function for the host names itself says that the index is elsewhere."""
    function = scope.function_around(program, meeting.node)
    return function is not None and is_for_host_at(program, function, meeting.anchor.place)


def _goes_back(program: Program, meeting: Meeting) -> bool:
    """Whether what is read is written into a tensor that is where the index is: that fails from the host as well."""
    function = scope.function_around(program, meeting.node)
    if function is None or may_be_device(meeting.anchor.place):
        return False
    readers = {
        program.names.statement(one.node)
        for one in _meetings(program)
        if births(one) == births(meeting) and scope.function_around(program, one.node) is function
    }
    read = _computed_of(function, {name for one in readers for name in scope.stored(one)}, set())
    roots, local = set(scope.reads(meeting.anchor.node)), set(scope.parameters(function)) | scope.stored(function)
    for one in _assignments(function):
        if not roots.isdisjoint(scope.stored(one)):
            roots |= set(scope.reads(one.value))
    beside = _computed_of(function, roots & local - {"self"}, readers)
    return any(
        isinstance(target, ast.Subscript)
        and dotted(target.value) in beside - read
        and not read.isdisjoint(scope.reads(one.value))
        for one in _assignments(function)
        for target in one.targets
    )


def _computed_of(function: scope.Function, names: Set[str], without: Set[ast.stmt]) -> set[str]:
    """`names`, and those that get what is computed of them, but for what the statements `without` store."""
    found = set(names)
    statements = [one for one in _assignments(function) if one not in without]
    while True:
        computed = (one for one in statements if not found.isdisjoint(scope.reads(one.value)))
        more = {name for one in computed for name in scope.stored(one)} - found
        if not more:
            return found
        found |= more


def _is_read_by_numpy(program: Program, meeting: Meeting) -> bool:
    """Whether numpy reads what is computed of the indexed tensor, without a copy: all of it is on the host."""
    function, name = scope.function_around(program, meeting.node), dotted(meeting.misplaced.node)
    if function is None or name is None or may_be_device(meeting.anchor.place):
        return False
    computed = _computed_of(function, {name}, set())
    methods = (one for one in ast.walk(function) if isinstance(one, ast.Attribute) and one.attr == "numpy")
    return any(dotted(one.value) in computed for one in methods)


def _assignments(function: scope.Function) -> list[ast.Assign]:
    return [one for one in ast.walk(function) if isinstance(one, ast.Assign)]


def _is_parameter(program: Program, node: ast.AST) -> bool:
    """Whether what is indexed was handed in, and is not bound again."""
    function = scope.function_around(program, node)
    if function is None or not isinstance(node, ast.Name) or node.id not in scope.parameters(function):
        return False
    own = program.names.statement(node)
    stores = [one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == node.id]
    return all(
        isinstance(one.ctx, ast.Load) or one.lineno > node.lineno or program.names.statement(one) is own
        for one in stores
    )


def _is_of_callers(program: Program, meeting: Meeting) -> bool:
    """Whether other functions made what is indexed, and it came as it is: its company there is not known here."""
    function, made = scope.function_around(program, meeting.node), births(meeting)
    if meeting.context.sites and not meeting.misplaced.value.sources and isinstance(meeting.anchor.place, Symbol):
        return True  # computed here of what they gave, as the index is
    own = isinstance(meeting.misplaced.node, ast.Name) and function is not None
    return own and bool(made) and all(scope.function_around(program, one) not in {function, None} for one in made)


def _is_own_mask(meeting: Meeting) -> bool:
    """`x[x != value]`: the mask is computed where `x` is."""
    name, mask = dotted(meeting.misplaced.node), meeting.anchor.node
    if name is None or may_be_device(meeting.anchor.place) or not isinstance(mask, ast.Compare):
        return False
    return name in {dotted(one) for one in (mask.left, *mask.comparators)}


def _is_one_element(program: Program, index: ast.expr) -> bool:
    """`x[0]`, `x[i]` in a loop over a range, maybe by a name: of one dimension, that gives an index without any."""
    function = scope.function_around(program, index)
    if isinstance(index, ast.Name) and function is not None:
        given = [one.value for one in _assignments(function) if index.id in scope.stored(one)]
        return bool(given) and all(not isinstance(one, ast.Name) and _is_one_element(program, one) for one in given)
    if not isinstance(index, ast.Subscript):
        return False
    if isinstance(index.slice, ast.Constant):
        return isinstance(index.slice.value, int)
    return isinstance(index.slice, ast.Name) and _counts(program, function, index.slice.id)


def _may_come_from_host(program: Program, meeting: Meeting) -> bool:
    """Whether the index is on the host, or what a function of the file returns which makes it there in one way."""
    function, name = scope.function_around(program, meeting.node), dotted(meeting.anchor.node)
    if function is None or may_be_device(meeting.anchor.place):
        return False
    where = SureWhereabouts(program)
    if where.source(meeting.anchor.node) is Made.HOST:
        return True
    made = [one.value for one in _assignments(function) if name in scope.stored(one)]
    called = {dotted(one.func) for one in made if isinstance(one, ast.Call)}
    return len(made) == 1 and any(
        where.source(value) is Made.HOST
        for each in program.tree.body
        if isinstance(each, scope.Function) and each.name in called
        for value in returned_by(each)
    )


def _is_moved_below(program: Program, meeting: Meeting) -> bool:
    """`y = table[x]`, then `y = y.cuda()`: there would be nothing to move if `x` had been on a device."""
    statement = program.names.statement(meeting.node)
    if may_be_device(meeting.anchor.place) or not isinstance(statement, ast.Assign):
        return False
    names, block = scope.stored(statement), scope.block_of(program, statement)
    below = block[block.index(statement) + 1 :]
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in {"cuda", "to"}
        and dotted(one.value) in names
        and moves(program, one)
        for each in below[:_NEAR]
        for one in ast.walk(each)
    )


_NEAR = 2
"""How many statements further down a move still belongs to what is read."""


def _counts(program: Program, function: scope.Function | None, name: str) -> bool:
    """Whether a name counts the rounds of a loop: `for i in range(3)`, `for i, x in enumerate(xs)`."""
    loops = [one for one in ast.walk(function or program.tree) if isinstance(one, ast.For)]
    return any(
        isinstance(one.iter, ast.Call)
        and dotted(one.iter.func) in {"range", "enumerate"}
        and dotted(one.target.elts[0] if isinstance(one.target, ast.Tuple) else one.target) == name
        for one in loops
    )


def _is_under_construction(program: Program, meeting: Meeting) -> bool:
    """Whether a constructor indexes by what `self` holds: nobody has moved the module yet."""
    function = scope.function_around(program, meeting.node)
    own = (dotted(meeting.anchor.node) or "").startswith("self.")
    constructs = function is not None and function.name == "__init__"
    return own and constructs and not may_be_device(meeting.anchor.place)


def _is_stored_here(program: Program, meeting: Meeting) -> bool:
    """Whether the index reads an element or an attribute that the same function stored before."""
    function = scope.function_around(program, meeting.node)
    if function is None or may_be_device(meeting.anchor.place):
        return False
    parts = ast.Subscript | ast.Attribute
    index = {ast.unparse(one) for one in ast.walk(meeting.anchor.node) if isinstance(one, parts)}
    return any(
        isinstance(one, parts)
        and isinstance(one.ctx, ast.Store)
        and one.lineno < meeting.node.lineno
        and ast.unparse(one) in index
        for one in ast.walk(function)
    )


def _finding(program: Program, meeting: Meeting) -> Finding:
    name, index = (text_of(program, one.node) for one in (meeting.misplaced, meeting.anchor))
    made = births(meeting)
    origin = program.source.span(made[0]) if made else None
    here = program.source.span(meeting.node)
    fix = _fix(program, meeting)
    trail = (Step(origin, "it is made here, on the host"),) if origin is not None else ()
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` is on the host, but its index `{index}` may be on a device",
        span=here,
        origin=origin,
        trail=(*trail, Step(here, f"and indexed by `{index}` here")),
        fix=fix,
        advice=f"bring `{index}` to the host, if it is not there already" if fix is None else None,
    )


def _fix(program: Program, meeting: Meeting) -> Fix | None:
    found = _fix_where_made(program, meeting)
    if found is not None or not may_be_device(meeting.anchor.place):
        return found
    span = program.source.span(meeting.anchor.node)
    return Fix(Safety.SAFE, "Bring the index to the host", (ReplaceExpression(span, "__node__.cpu()"),))


def _leaves_another(program: Program, meeting: Meeting) -> bool:
    """Whether the statement indexes another tensor of the host by the same: `x[mask] = x[mask] + y[mask]`."""
    index, own = ast.dump(meeting.anchor.node), dotted(meeting.misplaced.node)
    if not isinstance(meeting.anchor.node, ast.Name) or may_be_device(meeting.anchor.place):
        return False
    others = [
        one.value
        for one in ast.walk(program.names.statement(meeting.node))
        if isinstance(one, ast.Subscript) and dotted(one.value) not in {own, None}
        if any(ast.dump(part) == index for part in ast.walk(one.slice))
    ]
    where = SureWhereabouts(program) if others else None
    return where is not None and any(where.source(one) is Made.HOST for one in others)


def _fix_where_made(program: Program, meeting: Meeting) -> Fix | None:
    made = births(meeting)
    function = scope.function_around(program, meeting.node)
    local = bool(made) and all(scope.function_around(program, one) is function for one in made)
    sources = meeting.misplaced.value.sources
    left = makes_another_on_host(program, meeting.node, set(sources)) or _leaves_another(program, meeting)
    found = _following.at_births(program, meeting) if sources and local and not left else None
    return Fix(Safety.SAFE, f"Make the indexed tensor on `{found.device}`", found.edits) if found is not None else None


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth in {graph.Birth.FACTORY, graph.Birth.ARRAY} and conflict.is_of_index


RULE = Rule("DVF105", "index-off-device", ((b"torch", b"["),), check, looks=_looks.holds_host_tensors, owns=_owns)
