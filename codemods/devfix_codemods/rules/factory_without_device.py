"""A tensor made on the host meets a tensor on a device.

## What it does

Finds tensors that a factory puts on the host (`zeros`, `ones`, `arange`, `eye`, `rand`, `tensor`, `from_numpy` ...)
and that then meet a tensor which lives elsewhere: on a device that the program chose, or wherever the caller put the
tensors that a function gets. The factory is given `device=`; one that takes no device gets `.to(...)` behind it. So
does a legacy constructor that was given one, `torch.Tensor(3, device=device)`: on anything but the host that fails.
Samples of a distribution whose parameters are numbers, or on the host, count as made there too; its parameters must be
where a tensor is that `log_prob` gets.
Also finds those that meet nothing in sight, but take their size, dtype or name from a tensor, get parts that were moved
to a device, or have neighbours elsewhere; and those that are given a `device` which nothing binds, or the `self.device`
of a module that has none.

## Why it fails

Factories know nothing of the tensors around them. As soon as the caller's tensors are on an accelerator:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

## Before

    def causal(scores):
        mask = torch.ones(scores.size(-1), scores.size(-1)).triu(1).bool()
        return scores.masked_fill(mask, float("-inf"))

## After

    def causal(scores):
        mask = torch.ones(scores.size(-1), scores.size(-1), device=scores.device).triu(1).bool()
        return scores.masked_fill(mask, float("-inf"))

## Fix safety

Safe: a tensor that must be where another one is follows that one, which changes nothing where both are on the host.
Unsafe where the new tensor is used in other ways as well that may want it on the host, and where only its parts, its
size or its dtype tell where it belongs: the latter two that of an input of a module's `forward`, or of a part of one,
of a tensor that the program moved, of one that it is filled with and then replaces, or of one beside another tensor
that it meets. What only fits another tensor, or has neighbours on a device, is told without an edit. Whole
numbers that are multiplied as matrices stay on the host, which alone has such a product, and what comes of it is moved.
0-dim tensors in arithmetic, indices, values on the way to numpy, datasets, collate functions, attributes of `self`, and
tests that choose no device, are left alone.

## Since torch

Any.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial

from devfix_codemods.edits.operations import ReplaceExpression, ReplaceStatement, RewriteCall
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import attributes_set, dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.library import is_metric_api, is_module_api
from devfix_codemods.flow.places import UNKNOWN, Symbol, may_be_device
from devfix_codemods.flow.values import Kind
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _division, _looks
from devfix_codemods.rules._beside_moves import beside_moves
from devfix_codemods.rules._built_on_host import is_built_on_host
from devfix_codemods.rules._computed_of import is_computed_of
from devfix_codemods.rules._contradicted import collects_on_host, contradicted
from devfix_codemods.rules._cuda_only import is_test
from devfix_codemods.rules._first_turn import is_replaced_first
from devfix_codemods.rules._following import (
    Following,
    at_meeting,
    by_accelerator,
    by_device,
    following,
    is_made_of,
    root_name,
    with_device,
)
from devfix_codemods.rules._given_together import is_given_with
from devfix_codemods.rules._half_repairs import without_halves
from devfix_codemods.rules._host_company import joined_before, makes_another_on_host
from devfix_codemods.rules._host_functions import is_for_host
from devfix_codemods.rules._host_reads import comes_to, is_read_by_private
from devfix_codemods.rules._legacy_device import Given, given_devices
from devfix_codemods.rules._met_anywhere import is_number, picks_of_itself
from devfix_codemods.rules._moved_behind import is_moved_behind
from devfix_codemods.rules._moved_by_flag import is_moved_by_flag
from devfix_codemods.rules._moves import device_words, text_of
from devfix_codemods.rules._omitted_siblings import left_out
from devfix_codemods.rules._optional import surely_run_before
from devfix_codemods.rules._places_inputs import is_only_handed_on
from devfix_codemods.rules._returned_together import with_siblings
from devfix_codemods.rules._sized import Sized, forgotten
from devfix_codemods.rules._sure_whereabouts import SureWhereabouts
from devfix_codemods.rules._surely_host import is_on_host_in_any_case
from devfix_codemods.rules._tensor_asked import is_moved_if_asked
from devfix_codemods.rules._unbound_devices import Unbound, unbound_devices
from devfix_codemods.rules._unset_devices import unset_devices
from devfix_codemods.rules._whereabouts import Made
from devfix_codemods.rules._whole_numbers import are_multiplied
from devfix_codemods.scope import function_around, packages, parameters


def check(program: Program) -> Iterator[Finding]:
    yield from (_legacy(program, one) for one in given_devices(program))
    yield from (_left_out(program, one) for one in dict.fromkeys(left_out(program)))
    yield from (_unbound(program, one) for one in unbound_devices(program))
    yield from (_unset(program, one) for one in unset_devices(program))
    if not program.outline.makes_tensors or packages(program) & _LAZY:
        return
    facts, where = program.facts, cache(partial(SureWhereabouts, program))
    found: dict[tuple[ast.Call, ...], list[Meeting]] = {}
    others: dict[tuple[ast.Call, ...], list[Meeting]] = {}
    on_purpose = is_test(program)  # who runs it chose the machine
    for meeting in (*(() if on_purpose else facts.followings), *facts.meetings):
        sources = meeting.misplaced.value.sources
        if sources:
            (found if _concerns(program, meeting, where) else others).setdefault(sources, []).append(meeting)
    bugs = {each: (met, _bug(program, met, others.get(each, []))) for each, met in found.items()}
    vain = contradicted(program, bugs)
    told = list(with_siblings(program, list(without_halves(program, bugs, vain))))
    hints = {} if on_purpose else {one.call: one for one in forgotten(program) if one.call not in vain}
    hints = {call: one for call, one in hints.items() if not _stays(program, call)}
    repaired = {one.span for one in told if one.fix is not None}
    spans = {program.source.span(one): one for one in hints}
    met = {one.span for one in told}
    yield from (one for one in told if one.fix is not None or one.span not in spans)
    for span, call in spans.items():
        if span not in repaired:
            yield _hinted(program, hints[call], met=span in met)
    if facts.collectives and not _by_gloo(program):
        yield from (_collective(program, one) for one in facts.collectives if one.misplaced.value.sources not in found)


def _stays(program: Program, call: ast.Call) -> bool:
    """Whether the code around keeps what a factory makes on the host."""
    function = function_around(program, call)
    return function is not None and (is_for_host(program, function) or collects_on_host(program, call))


def _legacy(program: Program, given: Given) -> Finding:
    made, edit = text_of(program, given.call.func), given.edit(program)
    fix = Fix(Safety.SAFE, f"Move the tensor of `{made}` behind it", (edit,)) if edit is not None else None
    if fix is not None and given.gives_size(program):
        fix = replace(fix, safety=Safety.UNSAFE, title="Take the tuple as a size, as what fills the tensor needs it")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{made}(…)` takes no device but the host: legacy constructor expects device type: cpu",
        span=program.source.span(given.call),
        fix=fix,
        advice=f"call `{made}` without `device`, and move its result",
    )


def _left_out(program: Program, call: ast.Call) -> Finding:
    built, edit = text_of(program, call.func), with_device(program, call, "device")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{built}(…)` takes a `device` as its neighbours do, but is not given theirs",
        span=program.source.span(call),
        fix=Fix(Safety.UNSAFE, f"Pass `device` on to `{built}`", (edit,)) if edit is not None else None,
        advice=f"pass `device` on to `{built}`",
    )


def _unbound(program: Program, unbound: Unbound) -> Finding:
    name = text_of(program, unbound.reads[0])
    message = f"nothing binds `{name}`: NameError: name '{name}' is not defined"
    return _named_instead(program, unbound, message, f"take `{name}` as a parameter")


def _unset(program: Program, unset: Unbound) -> Finding:
    message = "nothing sets `self.device`: AttributeError: a module has no attribute 'device' of its own"
    return _named_instead(program, unset, message, "keep one in the constructor")


def _named_instead(program: Program, unbound: Unbound, message: str, otherwise: str) -> Finding:
    device = unbound.device
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=message,
        span=program.source.span(unbound.reads[0]),
        fix=Fix(Safety.UNSAFE, f"Name `{device}` instead", unbound.edits) if device is not None else None,
        advice=f"name the device of a tensor at hand, or {otherwise}",
    )


def _hinted(program: Program, hint: Sized, *, met: bool) -> Finding:
    """What fits a tensor goes with it as a choice, if it was also `met` by one that lives elsewhere."""
    made, span = text_of(program, hint.call.func), program.source.span(hint.call)
    repair = hint.repair or (hint.likely if met else None)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{made}(…)` {hint.reason}, and makes its tensor on the host",
        span=span,
        trail=(Step(span, "made here, on the host"),),
        fix=_fix_of_hint(made, repair) if repair is not None else None,
        advice=f"give `{made}` the device of what its tensor goes with",
    )


def _fix_of_hint(made: str, repair: Following) -> Fix:
    if isinstance(repair.edits[0], ReplaceStatement):
        return Fix(repair.safety, "Add to a new sum each time, which is where the addends are", repair.edits)
    return _fix(made, repair)


def _by_gloo(program: Program) -> bool:
    """Whether the file itself chooses the backend that takes tensors on the host."""
    return any(isinstance(node, ast.Constant) and node.value == "gloo" for node in ast.walk(program.tree))


def _collective(program: Program, meeting: Meeting) -> Finding:
    call = meeting.misplaced.value.sources[0]
    made, span = text_of(program, call.func), program.source.span(meeting.node)
    sources = meeting.misplaced.value.sources
    repair = by_device(program, sources, tensors=True) or by_accelerator(program, sources)
    if _is_one_of_several(program, sources) or _is_read_as_array(program, call):
        repair = None
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{made}(…)` makes a tensor on the host, and {meeting.operation} over NCCL takes device tensors only",
        span=program.source.span(call),
        trail=(Step(program.source.span(call), "made here, on the host"), Step(span, "given to other processes here")),
        fix=_fix(made, repair) if repair is not None else None,
        advice=f"give `{made}` the device of this process",
    )


def _is_read_as_array(program: Program, call: ast.Call) -> bool:
    """`.numpy()` in the function, without a copy: what the processes exchange is on the host."""
    function = function_around(program, call)
    return function is not None and any(
        isinstance(one, ast.Attribute)
        and one.attr == "numpy"
        and not any(isinstance(each, ast.Attribute) and each.attr in {"cpu", "to"} for each in ast.walk(one.value))
        for one in ast.walk(function)
    )


def _is_one_of_several(program: Program, sources: tuple[ast.Call, ...]) -> bool:
    """`torch.tensor(x) if first else torch.zeros(3)`, where not all are known to come to the other processes."""
    statements = {program.names.statement(one) for one in sources}
    others = (one for each in statements for one in ast.walk(each) if isinstance(one, ast.Call) and one not in sources)
    return any(
        tables.canonical(program.names.qualified(one.func) or "") in tables.FACTORIES | tables.HOST_FACTORIES
        and all(each.arg != "device" for each in one.keywords)
        for one in others
    )


def _concerns(program: Program, meeting: Meeting, where: Callable[[], SureWhereabouts]) -> bool:
    """Not what is indexed, nor what is kept in an attribute: other rules repair those."""
    if meeting.context.worker or _division.code_for(program, meeting) != RULE.code:
        return False
    if meeting.anchor.place == UNKNOWN and (meeting.context.function is None or _of_array(program, meeting)):
        return False
    if _is_test(program, meeting) or is_on_host_in_any_case(program, meeting) or is_number(program, meeting):
        return False
    if "ctc" in meeting.operation.lower() or ast.unparse(meeting.anchor.node) == "super()":
        return False  # targets and lengths of the one may be on the host, the other is no module with a place
    if any((dotted(one.node) or "").partition(".")[0] == "cls" for one in meeting.operands):
        return False
    if "." in (dotted(meeting.misplaced.node) or "") or _under_construction(program, meeting):
        return False
    taken = may_be_device(meeting.anchor.place) and _takes_as_is(meeting)
    if _passed_in(program, meeting) and not taken and not is_given_with(program, meeting):
        return False
    if _move_discarded(program, meeting) or _moved_by_maker(program, meeting):
        return False
    if is_replaced_first(program, meeting) or _is_element(program, meeting) or picks_of_itself(program, meeting):
        return False
    if _is_placed(program, meeting) or is_read_by_private(program, meeting.anchor.node):
        return False
    statements = [program.names.statement(one) for one in meeting.misplaced.value.sources]
    if any(isinstance(one, ast.Assign) and any(attributes_set(one)) for one in statements):
        return False
    return may_be_device(meeting.anchor.place) or not _is_beside_itself(program, meeting, where)


def _is_placed(program: Program, meeting: Meeting) -> bool:
    """Whether the code around, or what gets the tensor, has thought of where it belongs."""
    if is_moved_if_asked(program, meeting.misplaced.node) or is_moved_behind(program, meeting):
        return True
    if is_moved_by_flag(program, meeting):
        return True
    return is_built_on_host(program, meeting.anchor.node) or is_only_handed_on(program, meeting)


def _is_test(program: Program, meeting: Meeting) -> bool:
    """A comparison with what is expected, where nothing says that either is off the host."""
    function, owner = meeting.context.function, meeting.context.owner
    compares = meeting.operation.strip("`").rpartition(".")[2] in {"allclose", "isclose", "equal"}
    tests = function is not None and function.name.startswith("test")
    tests = tests or (owner is not None and any(one.endswith("TestCase") for one in program.classes.named_bases(owner)))
    compares = compares and not (_decides(program, meeting) and not tests)
    return (compares and tests) or ((compares or tests) and not may_be_device(meeting.anchor.place))


def _decides(program: Program, meeting: Meeting) -> bool:
    """Whether the program goes by what a comparison of a parameter says: `full = torch.equal(x, torch.ones(3))`."""
    function, name = meeting.context.function, dotted(meeting.anchor.node)
    statement = program.names.statement(meeting.node)
    given = function is not None and name in parameters(function)
    return given and isinstance(statement, ast.Assign | ast.If | ast.Return) and not is_test(program)


def _is_element(program: Program, meeting: Meeting) -> bool:
    """What a container was filled with: moved where it meets what may be anywhere, the rest would be left behind."""
    if may_be_device(meeting.anchor.place) or not isinstance(meeting.misplaced.node, ast.Subscript):
        return False
    held = (ast.Dict, ast.DictComp, ast.List, ast.ListComp)
    return any(
        isinstance(one, held) for each in meeting.misplaced.value.sources for one in program.names.ancestors(each)
    )


def _is_beside_itself(program: Program, meeting: Meeting, where: Callable[[], SureWhereabouts]) -> bool:
    """Whether what it meets was made of it, or is on the host like it. What a module holds goes where that goes."""
    place = meeting.anchor.place
    if isinstance(place, Symbol) and place.token.startswith("self:"):
        return False
    return is_made_of(program, meeting) or where().source(meeting.anchor.node) is Made.HOST


def _of_array(program: Program, meeting: Meeting) -> bool:
    """Made of an array of numpy, or of what may be a tensor: where nothing else tells, both may be in one place."""
    names = (program.names.qualified(one.func) for one in meeting.misplaced.value.sources)
    return any(one in tables.HOST_FACTORIES | tables.KEEPING for one in names)


def _passed_in(program: Program, meeting: Meeting) -> bool:
    """Whether a caller made the tensor: what it passes on is its business, and the callee may place it."""
    callers = [function_around(program, one) for one in meeting.context.sites]
    return any(function_around(program, one) in callers for one in meeting.misplaced.value.sources)


def _move_discarded(program: Program, meeting: Meeting) -> bool:
    """Whether the tensor was moved and the result thrown away."""
    sources = set(meeting.misplaced.value.sources)
    return any(not one.result_used and sources & set(one.value.sources) for one in program.facts.moves)


def _moved_by_maker(program: Program, meeting: Meeting) -> bool:
    """Whether the function that made the tensor moves it, on some path, before it is met in another function."""
    sources = set(meeting.misplaced.value.sources)
    makers = {function_around(program, one) for one in sources}
    if function_around(program, meeting.node) in makers:
        return False
    moves = [one for one in program.facts.moves if one.result_used and sources & set(one.value.sources)]
    return any(function_around(program, one.node) in makers for one in moves)


def _under_construction(program: Program, meeting: Meeting) -> bool:
    """In a constructor, and what it calls to fill `self`, everything is on the host still."""
    function, place = meeting.context.function, meeting.anchor.place
    if function is None or meeting.context.owner is None or may_be_device(place):
        return False
    if function.name == "__init__":
        return True
    own = isinstance(place, Symbol) and place.token.startswith("self:")
    if not own and not (dotted(meeting.anchor.node) or "").startswith("self."):
        return False
    return any(
        isinstance(call.func, ast.Attribute)
        and dotted(call.func) == f"self.{function.name}"
        and getattr(function_around(program, call), "name", None) == "__init__"
        for call in program.names.calls
    )


def _bug(program: Program, meetings: list[Meeting], others: list[Meeting]) -> Finding | None:
    """The bug of one tensor, told by the operation whose repair is best: one at the factory.

    Without a repair, only a meeting with what is surely a tensor counts, in the function of the factory: a module may
    well be on the host, and what a helper gives may be moved.
    """
    repairs = [(one, _repair(program, one, alone=len(meetings) == 1)) for one in meetings]
    meeting, repair = min(repairs, key=lambda one: _rank(program, *one))
    if repair is not None and not _at_birth(program, meeting, repair):
        late = joined_before(program, meeting) or is_computed_of(program, meeting)
        alone = not late and not _is_repeated(program, meeting) and not _leaves_another(program, meeting)
        repair = beside_moves(program, meetings) or (_everywhere(repairs, others) if alone else None)
    here = function_around(program, meeting.node)
    near = all(function_around(program, one) is here for one in meeting.misplaced.value.sources)
    sure = meeting.anchor.value.kind is Kind.TENSOR or may_be_device(meeting.anchor.place)
    given = meeting.anchor.role == "module" or any(one.role == "module" for one in meeting.operands)
    if given and not _takes_as_is(meeting) and (repair is None or repair.safety is not Safety.SAFE):
        return None  # what a module gets, it may place itself
    if given and _is_length(meeting):
        return None
    return _finding(program, meeting, repair) if repair is not None or (near and sure) else None


def _repair(program: Program, meeting: Meeting, *, alone: bool) -> Following | None:
    """The repair of one meeting. What several branches make, some elsewhere, is moved where they have come together.

    So is what is multiplied on the host, as CUDA cannot.
    """
    sources = meeting.misplaced.value.sources
    if are_multiplied(program, sources):
        return at_meeting(program, meeting)
    several = alone and len(sources) > 1 and meeting.misplaced.place == UNKNOWN and meeting.certain
    several = several and not _is_made_of_all(program, meeting)
    function, name = function_around(program, meeting.node), root_name(meeting.misplaced.node)
    if several and (function is None or name is None or all(comes_to(program, function, one, name) for one in sources)):
        moved = at_meeting(program, meeting)
        if moved is not None:
            return moved
    return following(program, meeting)


def _is_made_of_all(program: Program, meeting: Meeting) -> bool:
    """Whether no branch decides which of the factories have made the tensor: each of them has, before they meet."""
    run = set(surely_run_before(program, program.names.statement(meeting.node)))
    return all(
        program.names.statement(one) in run
        and not any(isinstance(each, (ast.IfExp, ast.BoolOp)) for each in program.names.ancestors(one))
        for one in meeting.misplaced.value.sources
    )


def _takes_as_is(meeting: Meeting) -> bool:
    """Whether what is called is a module of torch, or a metric: it places nothing."""
    modules = [one.value.qualified or "" for one in (meeting.anchor, *meeting.operands) if one.role == "module"]
    return bool(modules) and all(is_module_api(one) or is_metric_api(one) for one in modules)


def _is_length(meeting: Meeting) -> bool:
    names = [dotted(meeting.misplaced.node) or ""]
    if isinstance(meeting.node, ast.Call):
        names += [one.arg or "" for one in meeting.node.keywords if one.value is meeting.misplaced.node]
    return any(map(tables.sounds_like_length, names))


def _finding(program: Program, meeting: Meeting, repair: Following | None) -> Finding:
    call = meeting.misplaced.value.sources[0]
    made, span = text_of(program, call.func), program.source.span(meeting.node)
    where = _where(program, meeting)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{made}(…)` makes a tensor on the host, and {meeting.operation} needs it {where}",
        span=program.source.span(call),
        trail=(
            Step(program.source.span(call), "made here, on the host"),
            Step(span, f"{meeting.operation} needs it {where}"),
        ),
        fix=_fix(made, repair) if repair is not None else None,
        advice=f"give `{made}` the device of what it meets",
    )


def _rank(program: Program, meeting: Meeting, repair: Following | None) -> tuple[bool, bool, bool]:
    """Repaired, for certain, and where the tensor is born."""
    if repair is None:
        return (True, True, True)
    return (False, repair.safety is not Safety.SAFE, not _at_birth(program, meeting, repair))


def _at_birth(program: Program, meeting: Meeting, repair: Following) -> bool:
    born = [program.source.span(one) for one in meeting.misplaced.value.sources]
    return all(isinstance(one, (RewriteCall, ReplaceExpression)) and one.span in born for one in repair.edits)


def _everywhere(repairs: list[tuple[Meeting, Following | None]], others: list[Meeting]) -> Following | None:
    """The move at the one operation that needs the tensor elsewhere; None where there are more: it is made wrong."""
    found = [repair for _, repair in repairs if repair is not None]
    met = {one.node for one in (*(one for one, _ in repairs), *others)}
    if len(found) < len(repairs) or len(met) > 1:
        return None
    edits = tuple(dict.fromkeys(edit for one in found for edit in one.edits))
    safe = all(one.safety is Safety.SAFE for one in found)
    return Following(found[0].device, edits, Safety.SAFE if safe else Safety.UNSAFE)


def _leaves_another(program: Program, meeting: Meeting) -> bool:
    """Whether the statement makes another tensor on the host for code that is not seen: that fails with it as well."""
    met = (*program.facts.meetings, *program.facts.followings)
    seen = {call for one in met for call in one.misplaced.value.sources}
    return makes_another_on_host(program, meeting.node, seen)


def _is_repeated(program: Program, meeting: Meeting) -> bool:
    """Whether the same operation stands once more in the function: repaired here alone, it still fails there."""
    function, text = function_around(program, meeting.node), ast.dump(meeting.node)
    same = (one for one in ast.walk(function or program.tree) if type(one) is type(meeting.node))
    return any(one is not meeting.node and ast.dump(one) == text for one in same)


def _where(program: Program, meeting: Meeting) -> str:
    if may_be_device(meeting.anchor.place):
        return device_words(meeting)
    return f"where `{text_of(program, meeting.anchor.node)}` is"


def _fix(made: str, repair: Following) -> Fix:
    return Fix(repair.safety, f"Make the tensor of `{made}` on `{repair.device}`", repair.edits)


_LAZY = frozenset({"gguf"})
"""Packages for converters, whose tensors are on the host, or stand for those of files and have no place yet."""


def _owns(conflict: Conflict) -> bool:
    made = conflict.birth.birth in {graph.Birth.FACTORY, graph.Birth.ARRAY} and not conflict.is_of_attribute
    return made and not conflict.is_of_index and not conflict.is_of_weight and not conflict.is_of_state


RULE = Rule("DVF104", "factory-without-device", ((b"torch",),), check, looks=_looks.makes_or_passes_device, owns=_owns)
