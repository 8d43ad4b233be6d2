"""How a fix lets a value made on the host follow a tensor: `device=x.device` at its factory, or a move.

A factory is repaired where it stands. What it may name there is what the flow saw bound there; where nothing at the
factory names the place, the value is moved where it meets the other.
"""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, replace

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.findings import Safety
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import DISTRIBUTION, AtHand, Meeting, Operand
from devfix_codemods.flow.places import HOST, UNKNOWN, Place, may_be_device
from devfix_codemods.flow.values import Kind
from devfix_codemods.program import Program
from devfix_codemods.rules._arguments import with_argument
from devfix_codemods.rules._counters import is_counter
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._global_caches import is_kept_globally, is_part_of_cache
from devfix_codemods.rules._guarded import may_be_named
from devfix_codemods.rules._mixed_parameters import may_have_no_device
from devfix_codemods.rules._only_indices import is_only_index
from devfix_codemods.rules._optional import may_be_none
from devfix_codemods.rules._set_attributes import is_always_set
from devfix_codemods.rules._shared_helpers import is_wanted_by_all
from devfix_codemods.rules._written_rows import source_of_rows

IN_PLACE = "in-place update"
"""The operation of a meeting in an augmented assignment."""


@dataclass(frozen=True, slots=True)
class Following:
    """The edits that take a host value to what it meets, and the device expression that they write."""

    device: str
    edits: tuple[Edit, ...]
    safety: Safety = Safety.SAFE


def following(program: Program, meeting: Meeting) -> Following | None:
    """The repair of `meeting.misplaced`: each factory that it came from is told its device, or the value is moved."""
    found = _found(program, meeting)
    certain = meeting.certain and meeting.anchor.value.kind is not Kind.UNKNOWN
    return found if found is None or certain else replace(found, safety=Safety.UNSAFE)


def _found(program: Program, meeting: Meeting) -> Following | None:
    sources = meeting.misplaced.value.sources
    if (found := at_births(program, meeting)) is not None:
        return found
    here = scope.function_around(program, meeting.node)
    if any(scope.function_around(program, one) is not here for one in sources):
        return _by_receiver(program, meeting)
    if is_part_of_cache(program, meeting):
        return None
    moved = at_meeting(program, meeting) if meeting.certain else None
    if moved is not None:
        return moved
    if meeting.anchor.place == UNKNOWN and meeting.operation != IN_PLACE:
        return None
    return by_device(program, sources, tensors=meeting.anchor.place == UNKNOWN)


def by_device(program: Program, sources: tuple[ast.Call, ...], *, tensors: bool = False) -> Following | None:
    """The last resort: an expression that surely names a device where the factories stand. A choice.

    `tensors` allows the device of whichever tensor is at hand.
    """
    if any(is_kept_globally(program, one) for one in sources):
        return None
    devices = Devices(program)
    texts: set[str | None] = set()
    for call in sources:
        named = devices.first(program.names.statement(call))
        texts.add(named.text if named is not None else _any_tensor(program, call) if tensors else None)
    text = texts.pop() if len(texts) == 1 else None
    if text is None:
        return None
    edits = [placed(program, call, text) for call in sources]
    return Following(text, tuple(one for one in edits if one is not None), Safety.UNSAFE) if all(edits) else None


def by_accelerator(program: Program, sources: tuple[ast.Call, ...]) -> Following | None:
    """Where nothing names a device: the current accelerator, if the machine has one. A choice."""
    text = '"cuda" if torch.cuda.is_available() else "cpu"'
    if any(isinstance(one.func, ast.Name) or not ast.unparse(one.func).startswith("torch.") for one in sources):
        return None
    edits = [placed(program, call, text) for call in sources]
    return Following(text, tuple(one for one in edits if one is not None), Safety.UNSAFE) if all(edits) else None


def _by_receiver(program: Program, meeting: Meeting) -> Following | None:
    """Where a model gets a host value that one of its parts cannot take: the device of its parameters. A choice."""
    receivers = {_receiver(program, one) for one in meeting.misplaced.value.sources}
    name = receivers.pop() if len(receivers) == 1 else None
    if name is None or not may_be_device(meeting.anchor.place):
        return None
    text = f"next({name}.parameters()).device"
    edits = [placed(program, one, text) for one in meeting.misplaced.value.sources]
    return Following(text, tuple(one for one in edits if one is not None), Safety.UNSAFE) if all(edits) else None


def _receiver(program: Program, call: ast.Call) -> str | None:
    """`model`, known as a module by its other uses, in a call `model.decode(torch.zeros(3))` or `model(…)`."""
    around = scope.function_around(program, call) or program.tree
    modules = program.unit.evidence[around].modules
    for outer in program.names.ancestors(call):
        if isinstance(outer, ast.stmt):
            return None
        if isinstance(outer, ast.Call):
            owner = outer.func.value if isinstance(outer.func, ast.Attribute) else outer.func
            if isinstance(owner, ast.Name) and owner.id in modules:
                return owner.id
    return None


def at_births(program: Program, meeting: Meeting) -> Following | None:
    """The repair where the value is made, if all factories that it came from can be told where."""
    sources = meeting.misplaced.value.sources
    if any(is_kept_globally(program, one) for one in sources):
        return None
    births = [_at_birth(program, meeting, one) for one in sources]
    found = [one for one in births if one is not None]
    if not sources or len(found) < len(sources):
        return None
    return Following(found[0].device, tuple(dict.fromkeys(edit for one in found for edit in one.edits)))


def at_meeting(program: Program, meeting: Meeting) -> Following | None:
    """The repair in the operation itself: `.to(x.device)` behind the host value."""
    node = meeting.misplaced.node
    if meeting.misplaced.role == DISTRIBUTION or isinstance(node, ast.Starred):
        return None
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return None
    if is_written(meeting) or _is_said_to_be_number(program, node):
        return None
    text = _device_of_anchor(program, meeting) or _device_at_hand(program, meeting)
    if text is None:
        return None
    code = f"tuple(one.to({text}) for one in __node__)" if _is_several(program, meeting) else f"__node__.to({text})"
    return Following(text, (ReplaceExpression(program.source.span(node), code),))


def _is_said_to_be_number(program: Program, node: ast.expr) -> bool:
    """Whether a parameter is annotated as a number, though one caller gives a tensor: it may have no `.to`."""
    function = scope.function_around(program, node)
    said = scope.annotation(function, node.id) if function is not None and isinstance(node, ast.Name) else None
    return said is not None and ast.unparse(said).strip("'\"") in {"int", "float", "bool", "complex"}


def _is_several(program: Program, meeting: Meeting) -> bool:
    """Whether a network gets its states in a tuple that has one name: a tuple has no `.to`."""
    node = meeting.misplaced.node
    return meeting.misplaced.role == "state" and not isinstance(program.names.parent(node), ast.Tuple)


def _any_tensor(program: Program, call: ast.Call) -> str | None:
    hands = program.facts.births.get(call, {}).values()
    names = [text for hand in hands for text, _ in hand.tensors if _is_there(program, text, call)]
    return f"{names[0]}.device" if names else None


def is_written(meeting: Meeting) -> bool:
    """Whether the operation changes the misplaced value in place: a copy of it elsewhere would be changed instead."""
    node, value = meeting.node, meeting.misplaced.node
    if isinstance(node, ast.Subscript) and node.value is value:
        return not isinstance(node.ctx, ast.Load)
    method = node.func if isinstance(node, ast.Call) else None
    return isinstance(method, ast.Attribute) and method.value is value and method.attr.endswith("_")


def _of_anchor(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    """The device that the factory it meets was told, if that stands above this one as well."""
    keywords = meeting.anchor.node.keywords if isinstance(meeting.anchor.node, ast.Call) else []
    text = next((dotted(one.value) for one in keywords if one.arg == "device"), None)
    return text if text is not None and _is_kept(program, text.partition(".")[0], call, meeting.node) else None


def is_made_of(program: Program, meeting: Meeting) -> bool:
    """Whether what it meets was computed of the misplaced value alone: `y = x.new_zeros(3)`, `y = f(x[:2])`."""
    misplaced, node = root_name(meeting.misplaced.node), meeting.anchor.node
    function = scope.function_around(program, node)
    if misplaced is None or function is None or not isinstance(node, ast.Name):
        return False
    given = [
        one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and node.id in set(scope.stored(one)) and one.lineno <= node.lineno
    ]
    return bool(given) and _makers(program, function, max(given, key=lambda one: one.lineno)) == {misplaced}


def _makers(program: Program, function: scope.Function, value: ast.expr) -> set[str]:
    """The local names that a value is computed of; for `x.new_zeros(…)` that is `x`."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr.startswith("new_"):
        value = value.func.value
    return {one for one in scope.reads(value) if one in _bound_in(function)}


def root_name(node: ast.expr) -> str | None:
    """`x` in `x`, `x[0]`, `x.t()`."""
    *_, inner = scope.chain(node)
    return inner.id if isinstance(inner, ast.Name) else None


def _at_birth(program: Program, meeting: Meeting, call: ast.Call) -> Following | None:
    """The repair at one factory, by a name that is bound there and denotes the wanted place."""
    text = device_at(program, meeting, call) or _of_anchor(program, meeting, call)
    text = text or _known_of_self(program, meeting, call) or _of_weight(program, meeting, call)
    text = text or _of_rows(program, meeting, call)
    if text is None or (not _is_of_call(program, text, call) and not is_wanted_by_all(program, meeting, call)):
        return None
    edit = placed(program, call, text)
    return Following(text, (edit,)) if edit is not None else None


def _is_of_call(program: Program, device: str, call: ast.Call) -> bool:
    """Whether every call of the function around a factory tells it the device anew: by what it is given."""
    function, root = scope.function_around(program, call), device.partition(".")[0]
    return function is not None and root != "self" and root in _bound_in(function)


def placed(program: Program, call: ast.Call, device: str) -> Edit | None:
    """The edit that makes a factory put its tensor on `device`; None where its arguments are not all known."""
    name = tables.canonical(program.names.qualified(call.func) or "")
    if name in tables.FACTORIES:
        if any(isinstance(one, ast.Starred) for one in call.args) and name not in _TAKES_SIZES:
            return None
        return with_device(program, call, device)
    return ReplaceExpression(program.source.span(call), f"__node__.to({device})")


_TAKES_SIZES = frozenset(f"torch.{name}" for name in ("zeros", "ones", "empty", "rand", "randn"))


def with_device(program: Program, call: ast.Call, device: str) -> Edit | None:
    """`device=` among the arguments of a call, or None where it may be there already."""
    if any(one.arg in {None, "device", "out"} for one in call.keywords):
        return None
    return with_argument(call, program.source.span(call), device, "device")


# Which device expression


def device_at(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    """The text of a device that is bound where `call` stands and denotes the place of one of the others there."""
    known = program.facts.births.get(call, {})
    exact = known.get(meeting.context)
    hands = [exact] if exact is not None else list(known.values())
    for operand in _others(meeting):
        for hand in hands:
            text = _named(program, hand, operand.place, call, meeting)
            if text is not None:
                return text
    return _by_name(program, meeting, call)


def _known_of_self(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    """`self.device`, if it is the wanted place where the values meet, and by all that is written set at `call` too."""
    wanted = _others(meeting)
    same = {
        one.text
        for one in meeting.devices
        if one.text.startswith("self.") and any(_same(program, one.place, other.place) for other in wanted)
    }
    known = Devices(program).at(program.names.statement(call)) if same else ()
    return next((one.text for one in known if one.text in same and not one.optional), None)


def _of_weight(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    """`self.embed.weight.device`, of a layer of the module's own that gets the value in the same method."""
    anchor, name = meeting.anchor, dotted(meeting.anchor.node)
    here = scope.function_around(program, call) is scope.function_around(program, meeting.node)
    if anchor.role != "module" or name is None or not name.startswith("self.") or not here:
        return None
    return f"{name}.weight.device" if anchor.value.qualified in _WITH_WEIGHT else None


def _of_rows(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    source = source_of_rows(program, meeting, call)
    return f"{source}.device" if source is not None and _is_there(program, source, call) else None


_WITH_WEIGHT = frozenset(f"torch.nn.{name}" for name in ("Embedding", "Linear", "Conv1d", "Conv2d", "Conv3d"))


def _others(meeting: Meeting) -> list[Operand]:
    """The operands to follow, the anchor first."""
    rest = [one for one in meeting.operands if one is not meeting.anchor and one is not meeting.misplaced]
    return [one for one in (meeting.anchor, *rest) if one.place not in {HOST, UNKNOWN}]


def _named(program: Program, hand: AtHand, place: Place, call: ast.Call, meeting: Meeting) -> str | None:
    names = [one.text for one in hand.devices if _same(program, one.place, place)]
    at = program.names.statement(call)
    names = [one for one in names if may_be_named(program, f".to({one})", meeting, at)]
    tensors = [text for text, where in hand.tensors if _same(program, where, place) and _is_there(program, text, call)]
    tensors = [one for one in tensors if _is_met(one, meeting) or not is_only_index(program, one, call)]
    function = scope.function_around(program, call)
    local = [one for one in names if function is None or one.partition(".")[0] in _bound_in(function)]
    if not may_be_device(place):
        local = [one for one in local if "." not in one]
    return next(iter([*local, *(f"{one}.device" for one in _sorted(tensors, meeting)), *names]), None)


def _bound_in(function: scope.Function) -> set[str]:
    return set(scope.parameters(function)) | {name for one in function.body for name in scope.stored(one)}


def _same(program: Program, first: Place, second: Place) -> bool:
    return program.facts.shared(first) == program.facts.shared(second)


def _is_local(program: Program, name: str, node: ast.AST) -> bool:
    """Whether a name belongs to the function around `node`: a tensor is better followed than a global of the script."""
    function = scope.function_around(program, node)
    root = name.partition(".")[0]
    return function is None or root in scope.parameters(function) or root in scope.stored(function)


def _sorted(names: Iterable[str], meeting: Meeting) -> list[str]:
    """What takes part in the operation first, then plain names."""
    met = [dotted(one.node) for one in meeting.operands]
    return sorted(names, key=lambda one: (one not in met, one.count(".")))


def _is_met(name: str, meeting: Meeting) -> bool:
    """Whether the operation takes what is computed of a name."""
    return any(name in scope.reads(one.node) for one in meeting.operands)


def _is_there(program: Program, name: str, node: ast.AST) -> bool:
    """Whether a tensor under `name` is one where `node` runs, and one that is moved with the rest.

    No parameter that may be None, no number or array, no counter.
    """
    if may_have_no_device(program, name, node) or not is_always_set(program, name, node):
        return False
    if _is_replaced(program, name, node) or is_counter(program, name):
        return False
    function = scope.function_around(program, node)
    if function is not None and _is_data_for_numpy(program, function, name.partition(".")[0]):
        return False
    return not may_be_none(program, name.partition(".")[0], node)


def _is_replaced(program: Program, name: str, node: ast.AST) -> bool:
    """`x = torch.zeros(n)`, which takes nothing from the old `x`: that is not looked at any more, and maybe None."""
    statement = program.names.statement(node)
    if not isinstance(statement, ast.Assign) or name not in scope.stored(statement):
        return False
    return name not in scope.reads(statement.value)


def _is_data_for_numpy(program: Program, function: scope.Function, name: str) -> bool:
    """`np.array(x)` in the same function: `x` is a number, a list or an array there, or a tensor on the host."""
    return b"numpy" in program.source.data and any(
        any(isinstance(one, ast.Name) and one.id == name for one in node.args)
        and (program.names.qualified(node.func) or "") in {"numpy.array", "numpy.asarray"}
        and function in program.names.ancestors(node)
        for node in program.names.calls
    )


def _by_name(program: Program, meeting: Meeting, call: ast.Call) -> str | None:
    """The tensor it meets, by its own name, where that is bound at the factory already and not bound again."""
    for operand in (meeting.anchor, *meeting.operands):
        name = _root(program, operand.node)
        if name is None or operand is meeting.misplaced or operand.value.kind not in {Kind.TENSOR, Kind.UNKNOWN}:
            continue
        if operand.place == HOST or operand.value.sources or operand.role == "module":
            continue
        if operand.value.kind is Kind.UNKNOWN and operand is not meeting.anchor:
            continue
        own = name.startswith("self.")
        if own and operand.value.kind is Kind.UNKNOWN:
            continue
        kept = _is_kept_by_self if own else _is_kept
        if kept(program, name, call, meeting.node) and _is_there(program, name, call):
            return f"{name}.device"
    return None


def _root(program: Program, node: ast.expr) -> str | None:
    """The name of a tensor: `x`, `self.x`, or that from which `x.t()[0]` is taken if its uses say that it is one."""
    if isinstance(node, ast.Attribute) and node.attr in {"T", "mT"}:
        node = node.value
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return dotted(node)
    inner: ast.expr = node
    while isinstance(inner, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(inner, ast.Call) and not isinstance(inner.func, ast.Attribute):
            return None
        inner = inner.func if isinstance(inner, ast.Call) else inner.value
    if not isinstance(inner, ast.Name):
        return None
    evidence = program.facts.evidence[scope.function_around(program, node) or program.tree]
    stores = [line for line in evidence.stores.get(inner.id, ()) if line <= node.lineno]
    return inner.id if evidence.is_tensor(inner.id, max(stores, default=0)) else None


def _is_kept(program: Program, name: str, call: ast.Call, node: ast.AST) -> bool:
    """Whether `name` is bound at `call`, and every assignment to it in the function stands above."""
    function = scope.function_around(program, call)
    if function is None or function is not scope.function_around(program, node):
        return False
    if name not in scope.bound_at(program, program.names.statement(call)):
        return False
    stores = list(scope.changes(function, name))
    own = program.names.statement(call)
    own_target = own is program.names.statement(node) and isinstance(own, ast.Assign)
    above = all(one.lineno < call.lineno or (own_target and program.names.statement(one) is own) for one in stores)
    return above and (name in scope.parameters(function) or any(one.lineno < call.lineno for one in stores))


def _is_kept_by_self(program: Program, name: str, call: ast.Call, node: ast.AST) -> bool:
    """Whether a method that makes a value and lets it meet `self.x` gives `self` no other `x`."""
    function = scope.function_around(program, call)
    if function is None or function is not scope.function_around(program, node):
        return False
    written = (one for one in ast.walk(function) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    return "self" in scope.parameters(function)[:1] and all(dotted(one) != name for one in written)


# At the meeting


def _device_of_anchor(program: Program, meeting: Meeting) -> str | None:
    for operand in (meeting.anchor, *_others(meeting)):
        text = dotted(operand.node)
        if operand is meeting.misplaced or text is None or operand.role == "module":
            continue
        certain = operand.value.kind is Kind.TENSOR or (operand is meeting.anchor and operand.place == UNKNOWN)
        if certain and not operand.value.sources and not may_have_no_device(program, text, meeting.node):
            return f"{text}.device"
    return None


def _device_at_hand(program: Program, meeting: Meeting) -> str | None:
    for operand in _others(meeting):
        names = [one.text for one in meeting.devices if _same(program, one.place, operand.place)]
        tensors = [text for text, where in meeting.tensors if _same(program, where, operand.place)]
        near = set(scope.reads(operand.node))
        there = [
            f"{one}.device"
            for one in sorted(_sorted(tensors, meeting), key=lambda one: one not in near)
            if _is_there(program, one, meeting.node) and not _is_misplaced(program, one, meeting)
            if _is_met(one, meeting) or not is_only_index(program, one, meeting.node)
        ]
        if text := next(iter([*names, *there]), None):
            return text
    return None


def _is_misplaced(program: Program, name: str, meeting: Meeting) -> bool:
    """Whether a tensor is on the host itself where another operation of the function needs it elsewhere."""
    function = meeting.context.function
    return any(
        one.context.function is function and dotted(one.misplaced.node) == name
        for one in (*program.facts.meetings, *program.facts.followings)
    )
