"""The output of a tokenizer or processor never reaches the model's device.

## What it does

Finds encodings made with `return_tensors="pt"`, and parts of them, that stay on the host while the model is on a
device, and moves the whole encoding where it is made, or the forgotten part where its siblings are moved.

## Why it fails

Tokenizers and processors return host tensors. The model's embedding then raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when
    checking argument for argument index in method wrapper_CUDA__index_select)

## Before

    model.to(device)
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    outputs = model(**inputs)

## After

    model.to(device)
    inputs = tokenizer(texts, padding=True, return_tensors="pt").to(device)
    outputs = model(**inputs)

## Fix safety

Safe: the output of a tokenizer with `return_tensors="pt"` has `.to`, and moving it to where the model is changes
nothing that worked. Unsafe where a `device` must be declared first, where the model comes from elsewhere and is only
seen to be asked for its `device`, where a class moves the model in another method, and where only another place moves
what the same function gives.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.flow.values import Birth
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._guarded import suffix_at
from devfix_codemods.rules._hand_encodings import HandMade, encodes_by_hand, hand_made
from devfix_codemods.rules._held_encodings import HeldEncoding, moved_elsewhere, moves_tokens, of_classes
from devfix_codemods.rules._looks import encodes
from devfix_codemods.rules._moves import (
    Mover,
    copied_suffix,
    device_words,
    enters_call,
    insertable,
    mover_for,
    text_of,
)


def check(program: Program) -> Iterator[Finding]:
    if moves_tokens(program.source.data):
        yield from (_held(program, one) for one in moved_elsewhere(program))
    if encodes_by_hand(program.source.data):
        yield from (_by_hand(program, one) for one in hand_made(program))
    if not program.outline.encodes:
        return
    seen: set[ast.AST] = set()
    held = {one.made: one for one in of_classes(program)}
    for meeting in program.facts.meetings:
        birth = _birth(meeting)
        if birth in held and (dotted(meeting.anchor.node) or "").startswith("self."):
            continue  # the class keeps the device of that model
        # feature extractors compute with encodings themselves, and place them by their own rules
        if birth is not None and birth not in seen and insertable(meeting.context) and enters_call(meeting):
            seen.add(birth)
            yield _finding(program, meeting, birth, _fix(program, meeting, birth), device_words(meeting))
    for meeting in program.facts.followers:
        birth = _birth(meeting)
        if birth is not None and birth not in seen and insertable(meeting.context):
            fix = _following(program, meeting, birth)
            if fix is not None:
                seen.add(birth)
                yield _finding(program, meeting, birth, fix, "wherever that model was put")
    for call in program.names.calls:
        yield from _beside_ids(program, call)
    yield from (_held(program, one) for made, one in held.items() if made not in seen)


def _by_hand(program: Program, one: HandMade) -> Finding:
    made, anchor = program.source.span(one.made), text_of(program, one.meeting.anchor.node)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"the encoding stays on the host, but meets `{anchor}` {device_words(one.meeting)}",
        span=made,
        origin=made,
        trail=(
            Step(program.source.span(one.origin), "the encoding is made here, on the host"),
            Step(program.source.span(one.meeting.node), f"it meets `{anchor}`, {device_words(one.meeting)}, here"),
        ),
        fix=Fix(
            Safety.SAFE,
            f"Move the encoding to `{one.device}` where it is made",
            (one.edit(program),),
        ),
    )


def _held(program: Program, one: HeldEncoding) -> Finding:
    made = program.source.span(one.made)
    edit = ReplaceExpression(made, f"__node__.to({one.device})")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"the encoding stays on the host, but goes to `{text_of(program, one.call.func)}`, which is moved",
        span=made,
        origin=made,
        trail=(
            Step(program.source.span(one.witness), "a move says here where it has to be"),
            Step(program.source.span(one.call), "and this gets it as it is"),
        ),
        fix=Fix(
            Safety.UNSAFE, f"Move the encoding to `{one.device.removeprefix('device=')}` where it is made", (edit,)
        ),
    )


def _beside_ids(program: Program, call: ast.Call) -> Iterator[Finding]:
    """`model.generate(input_ids=ids.to(device), attention_mask=mask)`: the mask that goes with moved ids."""
    given = {one.arg: one.value for one in call.keywords}
    ids, mask = given.get("input_ids"), given.get("attention_mask")
    if not isinstance(ids, ast.Call) or not isinstance(ids.func, ast.Attribute) or not isinstance(mask, ast.Name):
        return
    suffix = copied_suffix(program, ids)
    around = scope.function_around(program, call) or program.tree
    values = [one.value for one in ast.walk(around) if isinstance(one, ast.Assign) and mask.id in scope.stored(one)]
    if suffix is None or mask.id in program.facts.evidence[around].moved or not values:
        return
    if any("device" in ast.unparse(one) or ".to(" in ast.unparse(one) for one in values):
        return
    optional = any(_may_be_none(one) for one in values)
    code = f"__node__{suffix} if {mask.id} is not None else None" if optional else f"__node__{suffix}"
    edit = ReplaceExpression(program.source.span(mask), code)
    yield Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{mask.id}` stays where it was made, but goes to the model with ids that are moved",
        span=program.source.span(mask),
        trail=(Step(program.source.span(ids), "the ids are moved here"),),
        fix=Fix(Safety.UNSAFE, f"Move `{mask.id}` as the ids are", (edit,)),
    )


def _may_be_none(value: ast.expr) -> bool:
    """`None`, or `inputs.get("attention_mask")`."""
    return any(
        (isinstance(node, ast.Constant) and node.value is None)
        or (isinstance(node, ast.Attribute) and node.attr == "get")
        for node in ast.walk(value)
    )


def _birth(meeting: Meeting) -> ast.AST | None:
    origin = meeting.misplaced.value.origin
    return origin.node if origin is not None and origin.birth is Birth.ENCODING else None


def _following(program: Program, meeting: Meeting, birth: ast.AST) -> Fix | None:
    """To the model's own device, where the code is seen to ask it for that: it may have been left on the host."""
    model = dotted(meeting.anchor.node)
    if model is None or not isinstance(birth, (ast.Call, ast.Subscript, ast.Attribute)):
        return None
    asked = any(_asks(program, node, model, meeting.node) for node in ast.walk(program.tree))
    generates = (
        model != "self"
        and _is_given(program, meeting, model)
        and any(dotted(call.func) == f"{model}.generate" for call in program.names.calls)
    )
    if not (asked or generates) or model.partition(".")[0] not in program.source.segment(
        program.source.span(meeting.node)
    ):
        return None
    edit = ReplaceExpression(program.source.span(birth), f"__node__.to({model}.device)")
    return Fix(Safety.UNSAFE, f"Move the encoding to `{model}.device` where it is made", (edit,))


def _asks(program: Program, node: ast.AST, model: str, at: ast.expr) -> bool:
    """Whether the file reads `model.device`; what a class itself holds, in the same class."""
    if not isinstance(node, ast.Attribute) or node.attr != "device" or dotted(node.value) != model:
        return False
    own = model.partition(".")[0] == "self"
    same = not own or scope.class_around(program, node) is scope.class_around(program, at)
    return same and isinstance(node.ctx, ast.Load)


def _is_given(program: Program, meeting: Meeting, model: str) -> bool:
    """Whether a class or a function got the model from elsewhere, with nothing said of where its parts lie."""
    function = meeting.context.function
    root = model.partition(".")[0]
    given = function is not None and root in scope.parameters(function)
    return given and all(one.arg != "device_map" for call in program.names.calls for one in call.keywords)


def _finding(program: Program, meeting: Meeting, birth: ast.AST, fix: Fix | None, where: str) -> Finding:
    anchor = text_of(program, meeting.anchor.node)
    made = program.source.span(birth)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"the encoding stays on the host, but meets `{anchor}` {where} in {meeting.operation}",
        span=program.source.span(meeting.node),
        origin=made,
        trail=(
            Step(made, "the encoding is made here, on the host"),
            Step(program.source.span(meeting.misplaced.node), f"it meets `{anchor}`, {where}, here"),
        ),
        fix=fix,
        advice=None if fix else f"move the encoding to the device of `{anchor}`",
    )


def _fix(program: Program, meeting: Meeting, birth: ast.AST) -> Fix | None:
    part = meeting.misplaced.value.definition
    sibling = _sibling_mover(program, part) if isinstance(part, ast.expr) else None
    node = part if sibling is not None else birth
    if not isinstance(node, (ast.Call, ast.Subscript, ast.Attribute)):
        return None
    mover = sibling or mover_for(program, meeting, program.names.statement(node), blocking=True)
    if mover is None:
        return None
    edits: tuple[Edit, ...] = (*mover.edits, ReplaceExpression(program.source.span(node), f"__node__{mover.suffix}"))
    return Fix(mover.safety, f"Move the encoding to `{mover.device}` where it is made", edits)


def _sibling_mover(program: Program, part: ast.expr) -> Mover | None:
    """For one part of an encoding: the style in which another part of the same one is moved."""
    if not isinstance(part, (ast.Subscript, ast.Attribute)):
        return None
    base = ast.dump(part.value)
    for move in program.facts.moves:
        if isinstance(move.receiver, type(part)) and ast.dump(move.receiver.value) == base and move.result_used:
            at = program.names.statement(part)
            suffix = suffix_at(program, copied_suffix(program, move.node), move.node, at, move.context.sites)
            if suffix is not None:
                return Mover(suffix, suffix.removeprefix(".to(").removesuffix(")"), (), Safety.SAFE)
    return None


def _looks(data: bytes) -> bool:
    return encodes(data) or moves_tokens(data) or encodes_by_hand(data)


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth is graph.Birth.ENCODING


RULE = Rule(
    "DVF102",
    "encoding-not-moved",
    (
        (b"return_tensors", b".to("),
        (b"return_tensors", b".cuda("),
        (b"return_tensors", b".generate("),
        (b"tokenize(", b".to("),
        (b"encode", b"ensor(", b".to("),
        (b"encode", b"ensor(", b".cuda("),
        (b"tokens_to_ids(", b"ensor(", b".to("),
    ),
    check,
    looks=_looks,
    owns=_owns,
)
