"""How a fix writes a move: which device expression, in whose style, and where the line may stand."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.findings import Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Context, DeviceName, Meeting, spelled
from devfix_codemods.flow.places import Choice, Device, Host, Place, describe
from devfix_codemods.flow.values import Kind, Value
from devfix_codemods.program import Program
from devfix_codemods.repairs.declared import DECLARATION
from devfix_codemods.rules._guarded import may_be_named
from devfix_codemods.source import Span


@dataclass(frozen=True, slots=True)
class Mover:
    """The text that moves a value when it is appended to it, the edits it needs elsewhere, and how safe that is."""

    suffix: str
    device: str
    edits: tuple[Edit, ...] = ()
    safety: Safety = Safety.SAFE


def enters_call(meeting: Meeting) -> bool:
    """Whether the values meet as what a function or a module gets, not in arithmetic nor in a method of one of them."""
    return isinstance(meeting.node, ast.Call) and not meeting.operation.startswith("`.")


def insertable(context: Context) -> bool:
    """Whether code of ours may move values here: not where a framework places them, and never in a loader's worker."""
    return not context.managed and not context.worker


def copied_suffix(program: Program, call: ast.Call) -> str | None:
    """`.to(device, non_blocking=True)` of an existing move, verbatim; None where it also changes the dtype."""
    function = call.func
    assert isinstance(function, ast.Attribute)
    if function.attr not in {"to", "cuda"} or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    keywords = {one.arg for one in call.keywords}
    if function.attr == "to" and (len(call.args) > 1 or not keywords <= {"device", "non_blocking"}):
        return _plain_suffix(program, call)
    receiver, whole = program.source.span(function.value), program.source.span(call)
    text = program.source.segment(Span(receiver.end_line, receiver.end_column, whole.end_line, whole.end_column))
    return (
        text.lstrip(") \t")
        if "\n" not in text and text.lstrip(") \t").startswith(".")
        else _plain_suffix(program, call)
    )


def _plain_suffix(program: Program, call: ast.Call) -> str | None:
    """The move of `call` without the dtype and layout that it also sets."""
    device = next((one.value for one in call.keywords if one.arg == "device"), call.args[0] if call.args else None)
    if device is None or isinstance(device, ast.Starred):
        return None
    blocking = any(one.arg == "non_blocking" for one in call.keywords)
    return f".to({program.source.segment(program.source.span(device))}{', non_blocking=True' if blocking else ''})"


def roots(text: str) -> set[str]:
    """The names that a move's text reads."""
    tree = ast.parse(f"_{text}", mode="eval")
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - {"_"}


def device_for(place: Place, devices: Iterable[DeviceName]) -> str | None:
    """A name that is bound and denotes `place`; among several, the simplest."""
    return next((one.text for one in devices if one.place == place), None)


def device_words(meeting: Meeting) -> str:
    """The place of the anchor in the words of the code around the operation."""
    name = device_for(meeting.anchor.place, meeting.devices)
    return f"on `{name}`" if name else describe(meeting.anchor.place)


def mover_for(program: Program, meeting: Meeting, statement: ast.stmt, *, blocking: bool = False) -> Mover | None:
    """How to take a host value to the anchor's place at `statement`.

    In the order of preference: a name for the device, the literal that the anchor was moved by, the device of the
    anchor's parameters, a new name near the imports. Neither names nor literals that fail outside of the guard under
    which the anchor was moved.
    """
    tail = "" if blocking else ", non_blocking=True"
    place = meeting.anchor.place
    names = names_at(program, statement, meeting)
    names = tuple(one for one in names if may_be_named(program, f".to({one.text})", meeting, statement))
    if (name := device_for(place, names)) is not None:
        return Mover(f".to({name}{tail})", name)
    move = meeting.moved.node if meeting.moved else None
    near = move is not None and scope.function_around(program, move) in {None, meeting.context.function}
    literal = _by_literal(place, move, meeting.misplaced.value, tail) if isinstance(place, Device) else None
    if literal is not None and not may_be_named(program, literal.suffix, meeting, statement):
        literal = None
    if literal is not None and near:
        return literal
    shared = scope.function_around(program, statement) is meeting.context.function
    of_parameters = _of_parameters(program, meeting, tail) if shared else None
    return of_parameters or literal or _declared(program, meeting, move, tail)


def _by_literal(place: Device, move: ast.AST | None, value: Value, tail: str) -> Mover | None:
    """The constant that the anchor was moved by, in the form of that move. Encodings have no `.cuda`."""
    by_cuda = isinstance(move, ast.Call) and isinstance(move.func, ast.Attribute) and move.func.attr == "cuda"
    if by_cuda and value.kind is not Kind.ENCODING:
        assert isinstance(move, ast.Call)
        return Mover(f".cuda({tail.removeprefix(', ')})", "cuda") if not move.args else None
    return Mover(f'.to("{place.name}"{tail})', place.name)


def _of_parameters(program: Program, meeting: Meeting, tail: str) -> Mover | None:
    """`next(model.parameters()).device`, for a function that is given the model and no device."""
    function, name = meeting.context.function, dotted(meeting.anchor.node)
    if meeting.anchor.role != "module" or name is None or function is None or meeting.context.forward:
        return None
    if name.partition(".")[0] not in {one.arg for one in (*function.args.posonlyargs, *function.args.args)}:
        return None
    text = f"{name}.device" if _has_device(program, meeting, name) else f"next({name}.parameters()).device"
    return Mover(f".to({text}{tail})", text)


def _has_device(program: Program, meeting: Meeting, name: str) -> bool:
    """Whether the model is seen to have `.device`, as those of transformers do and plain modules do not."""
    origin = meeting.anchor.value.origin
    built = program.names.qualified(origin.node.func) if origin and isinstance(origin.node, ast.Call) else None
    if built is not None and built.startswith("transformers."):
        return True
    return any(
        isinstance(node, ast.Attribute) and node.attr == "device" and dotted(node.value) == name
        for node in ast.walk(meeting.context.function or program.tree)
    )


def _declared(program: Program, meeting: Meeting, move: ast.AST | None, tail: str) -> Mover | None:
    """A new `device` near the imports, for a script that spells out its choice where it needs it.

    The expression that it replaces is the move's own, so that both keep naming one place.
    """
    if not _is_cuda_or_cpu(meeting.anchor.place) or not isinstance(move, ast.Call) or len(move.args) != 1:
        return None
    if isinstance(move.args[0], ast.Constant) or dotted(move.args[0]) is not None:
        return None
    named = _named_anew(program, move.args[0])
    uses = [one.span.line for one in named] + [meeting.node.lineno, meeting.misplaced.node.lineno]
    edits = declare_device(program, min(uses))
    if edits is None:
        return None
    return Mover(f".to(device{tail})", "device", (*edits, *named), Safety.UNSAFE)


def _named_anew(program: Program, expression: ast.expr) -> list[ReplaceExpression]:
    """Every move by this very expression, now by the name."""
    wanted = ast.dump(expression)
    return [
        ReplaceExpression(program.source.span(one.args[0]), "device")
        for one in program.names.calls
        if isinstance(one.func, ast.Attribute)
        and one.func.attr == "to"
        and one.args
        and ast.dump(one.args[0]) == wanted
    ]


def _is_cuda_or_cpu(place: Place) -> bool:
    return isinstance(place, Choice) and place.options == frozenset({Device("cuda"), Host()})


def declare_device(program: Program, before: int) -> tuple[Edit, ...] | None:
    """The edits that bind `device` at module level, after the imports that come before the line `before`.

    None where the name is taken or `torch` is not at hand there.
    """
    above = (node for node in program.tree.body if (node.end_lineno or node.lineno) < before)
    imports = [node for node in above if isinstance(node, (ast.Import, ast.ImportFrom))]
    has_torch = any(isinstance(one, ast.Import) and any(_binds_torch(alias) for alias in one.names) for one in imports)
    taken = any(
        isinstance(node, (ast.Name, ast.arg)) and _bound_name(node) == "device" for node in ast.walk(program.tree)
    )
    if not imports or not has_torch or taken:
        return None
    anchor = program.source.span(imports[-1])
    return (InsertStatement(anchor, "after", DECLARATION, spaced=True),)


def _binds_torch(alias: ast.alias) -> bool:
    return alias.name.partition(".")[0] == "torch" and alias.asname in {None, "torch"}


def _bound_name(node: ast.Name | ast.arg) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node.ctx, ast.Store) else None


def names_at(program: Program, statement: ast.stmt, meeting: Meeting) -> tuple[DeviceName, ...]:
    """Device names bound at `statement` that denote the anchor's place, there or at the meeting."""
    bound = program.facts.devices_at.get(statement, ())
    bound += spelled(meeting.anchor.place, program.facts.owners_at.get(statement, ()), bound)
    here = {one.text for one in meeting.devices if one.place == meeting.anchor.place}
    function = scope.function_around(program, statement)
    shared = function is meeting.context.function
    known = tuple(
        replace(one, place=meeting.anchor.place)
        for one in bound
        if one.place == meeting.anchor.place or (shared and one.text in here)
    )
    given = set(scope.parameters(function)) if shared and function is not None else set()
    extra = (one for one in meeting.devices if one.text in here and one.text.partition(".")[0] in given)
    return known + tuple(one for one in extra if one.text not in {name.text for name in known})


def within(program: Program, node: ast.AST, outer: ast.AST) -> bool:
    """Whether `node` lies inside `outer`."""
    return node is outer or any(one is outer for one in program.names.ancestors(node))


def text_of(program: Program, node: ast.AST) -> str:
    """The source of an expression, on one line."""
    text = program.source.segment(program.source.span(node))
    return dotted(node) or " ".join(text.split()) if isinstance(node, ast.expr) else " ".join(text.split())
