"""Factories on the host whose arguments or neighbours say where their tensor belongs, though nothing there meets it.

`torch.ones(x.shape[0])` takes its size from a tensor, `torch.zeros(n, dtype=x.dtype)` its dtype: what is made to fit an
input of a module's `forward`, or what the program moved, or is filled with the tensor and replaces it, goes with it, as
a choice. Anywhere else it may be on the host
on purpose, as may `torch.zeros(3)` beside `torch.ones(3, device=device)`: a third of those read in libraries were. That
is told, not edited.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial

from devfix_codemods import scope
from devfix_codemods.findings import Safety
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import attributes_set, dotted, last_name
from devfix_codemods.flow.places import may_be_device
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._filled import device_of_parts
from devfix_codemods.rules._following import Following, placed
from devfix_codemods.rules._host_company import others_left, parted
from devfix_codemods.rules._host_on_purpose import is_random, runs_on_the_host, stays
from devfix_codemods.rules._host_reads import gives_number, is_handed_out, is_tested
from devfix_codemods.rules._loss_sums import is_sum, repaired_sum
from devfix_codemods.rules._mixed_parameters import may_have_no_device
from devfix_codemods.rules._parts_of_inputs import is_part_of_input
from devfix_codemods.rules._places_taken import taken_place
from devfix_codemods.rules._rebuilt import device_of_first, wanted_device
from devfix_codemods.rules._sure_whereabouts import SureWhereabouts
from devfix_codemods.rules._taken_over import takes_over
from devfix_codemods.rules._whereabouts import Made


@dataclass(frozen=True, slots=True)
class Sized:
    """A factory, what says where its tensor belongs, and the edit that puts it there.

    `likely` is the edit for one that only fits another tensor, once it is known to meet what lives elsewhere.
    """

    call: ast.Call
    reason: str
    repair: Following | None
    likely: Following | None = None


def forgotten(program: Program) -> Iterator[Sized]:
    """Factories in functions that nothing keeps on the host, with the device that the code around them tells."""
    found = list(_told(program))
    hinted = {one.call for one in found}
    found = [one for one in found if _BESIDE not in one.reason or not others_left(program, one.call, hinted)]
    goes = (one for one in found if one.repair is not None or one.reason.startswith(_FIT))
    kept = parted(program, {one.call for one in goes if one.reason not in _NOT_PARTED})
    yield from (one for one in found if one.call not in kept)


_IN_PLACE = "gets losses added in place"
_PUT = "becomes a part of a tensor that is where the caller's is"
_REBUILT = "replaces a tensor that is not on the device asked for"
_FILLED = "gets parts that were moved to"
_ANEW = "takes the place of a tensor that was made on a device before the loop"
_NOT_PARTED = frozenset({_IN_PLACE, _PUT, _REBUILT, _ANEW})
_BESIDE = "has neighbours on"
_FIT = "is made to fit"


def _told(program: Program) -> Iterator[Sized]:
    """What the arguments and the neighbours of each factory say, taken alone."""
    devices = cache(partial(Devices, program))
    for call in program.names.calls:
        name = tables.canonical(program.names.qualified(call.func) or "")
        function = scope.function_around(program, call)
        if name not in _MAKES or function is None or any(one.arg in _PLACING for one in call.keywords):
            continue
        if (asked := _asked_for(program, function, call)) is not None:
            yield asked
            continue
        if runs_on_the_host(program, function, call):
            continue
        if (first := device_of_first(program, call)) is not None and (edit := placed(program, call, first)) is not None:
            yield Sized(call, _ANEW, Following(first, (edit,), Safety.UNSAFE))
            continue
        if (shared := device_of_parts(program, function, call)) is not None and not stays(program, function, call):
            edit = placed(program, call, shared)
            yield Sized(call, f"{_FILLED} `{shared}`", Following(shared, (edit,), Safety.UNSAFE) if edit else None)
            continue
        if is_sum(program, function, call):
            yield Sized(call, _IN_PLACE, repaired_sum(program, devices, function, call))
            continue
        found = taken_place(program, function, call)
        if found is None and not stays(program, function, call):
            found = _by_argument(program, function, call) or _by_sibling(program, devices, function, call)
            found = found or _by_parameter(program, function, call)
        if found is not None:
            device, reason = found
            edit = placed(program, call, device)
            if edit is not None:
                sure = not reason.startswith(_BESIDE) and (
                    not reason.startswith(_FIT)
                    or (_is_moved(program, call, device) and not _holds_sizes(call))
                    or _is_for_input(program, function, call, device)
                    or takes_over(program, function, call, device.removesuffix(".device"))
                )
                repair = Following(device, (edit,), Safety.UNSAFE)
                yield Sized(call, reason, repair if sure else None, repair if reason.startswith(_FIT) else None)


def _asked_for(program: Program, function: scope.Function, call: ast.Call) -> Sized | None:
    """What the code itself says of the place of the value: a test before it, or the tensor into which it is put."""
    if (wanted := wanted_device(program, call)) is not None:
        edit = placed(program, call, wanted)
        return Sized(call, _REBUILT, Following(wanted, (edit,))) if edit is not None else None
    if (whole := _by_item(program, function, call)) is not None:
        edit = placed(program, call, whole)
        return Sized(call, _PUT, Following(whole, (edit,), Safety.UNSAFE)) if edit is not None else None
    return None


_PLACING = frozenset({"device", "out", "pin_memory", None})
_MAKES = (
    tables.FACTORIES - {"torch.as_tensor", "torch.asarray", "torch.randperm", "torch.normal"}
    | tables.LEGACY_CONSTRUCTORS
)


# What says where it belongs


def _by_argument(program: Program, function: scope.Function, call: ast.Call) -> tuple[str, str] | None:
    """The tensor from which a factory takes its size or its dtype."""
    if _is_number_of(program, function, call):
        return None
    bound = scope.bound_at(program, program.names.statement(call))
    kinds = [one.value for one in call.keywords if one.arg == "dtype"]  # of what it will hold, before its size
    for part in (*kinds, *scope.given_to(call)):
        for node in ast.walk(part):
            if (tensor := _measured(program, function, node, call)) is not None:
                return f"{tensor}.device", f"{_FIT} `{tensor}`"
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in bound:
                tensor = _of_local(program, function, node.id, call)
                if tensor is not None and tensor.partition(".")[0].partition("[")[0] in {*bound, "self"}:
                    return f"{tensor}.device", f"{_FIT} `{tensor}`"
    return None


def _is_moved(program: Program, call: ast.Call, device: str) -> bool:
    """Whether the program itself puts the tensor on a device, wherever the factory is called."""
    tensor, facts = device.removesuffix(".device"), program.facts
    hands = facts.births.get(call, {}).values()
    places = [place for hand in hands for name, place in hand.tensors if name == tensor]
    return bool(places) and all(may_be_device(facts.shared(one)) for one in places)


def _holds_sizes(call: ast.Call) -> bool:
    """`torch.tensor([x.shape[1], x.size(2)])`: sizes to compute with, maybe on the host."""
    held = call.args[0] if last_name(call.func) == "tensor" and call.args else None
    sizes = held.elts if isinstance(held, ast.List | ast.Tuple) and not call.keywords else []
    return bool(sizes) and all(
        (isinstance(one, ast.Subscript) and isinstance(one.value, ast.Attribute) and one.value.attr == "shape")
        or (isinstance(one, ast.Call) and last_name(one.func) == "size")
        for one in sizes
    )


def _is_for_input(program: Program, function: scope.Function, call: ast.Call, device: str) -> bool:
    """Whether it is made for the `forward` of a module, with the size or the dtype of what that is given."""
    owner, root = scope.class_around(program, call), device.partition(".")[0]
    if owner is None or is_random(call):
        return False
    tensor = ast.parse(device.removesuffix(".device"), mode="eval").body
    if not _is_input(program, function, root) and not is_part_of_input(program, function, tensor):
        return False
    name = tables.canonical(program.names.qualified(call.func) or "")
    listed = any(isinstance(one, (ast.List, ast.ListComp)) for each in call.args for one in ast.walk(each))
    sized = (name in _MAKES - {"torch.tensor"} and not listed) or any(one.arg == "dtype" for one in call.keywords)
    return sized and root not in {"self", "cls"} and program.unit.classes.is_module(owner)


def _is_input(program: Program, function: scope.Function, name: str) -> bool:
    """Whether a parameter is one of `forward`, or of a method that gets that from all who call it."""
    if name not in scope.parameters(function):
        return False
    if function.name == "forward":
        return True
    callers = arguments(program, function, name)
    return bool(callers) and all(
        where is program and isinstance(one, ast.Name) and _is_of_forward(program, one) for where, one in callers
    )


def _is_of_forward(program: Program, node: ast.Name) -> bool:
    around = scope.function_around(program, node)
    return around is not None and around.name == "forward" and node.id in scope.parameters(around)


def _of_local(program: Program, function: scope.Function, name: str, call: ast.Call) -> str | None:
    """The tensor whose size a local name holds, if both are bound once."""
    stores = list(scope.stores(function, name))
    statement = program.names.statement(stores[0]) if len(stores) == 1 else None
    if not isinstance(statement, ast.Assign) or (statement.lineno, statement.col_offset) >= (
        call.lineno,
        call.col_offset,
    ):
        return None
    if any(isinstance(one, (ast.IfExp, ast.BoolOp, ast.Compare, ast.Lambda)) for one in ast.walk(statement.value)):
        return None
    found = [one for node in ast.walk(statement.value) if (one := _measured(program, function, node, call)) is not None]
    if not found:
        return None
    root = found[0].partition(".")[0].partition("[")[0]
    here = (statement.lineno, statement.col_offset)
    later = any((one.lineno, one.col_offset) > here for one in scope.stores(function, root))
    return None if later else found[0]


def _is_number_of(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """`n = x.shape[0]; torch.tensor(n)`: a 0-dim tensor may be on the host."""
    match call.func, call.args:
        case ast.Attribute(attr="tensor") | ast.Name(id="tensor"), [ast.Name(id=name)]:
            return _of_local(program, function, name, call) is not None and not any(
                _is_whole_shape(one) for one in _assigned(program, function, name)
            )
    return False


def _is_whole_shape(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute) or (isinstance(value, ast.Call) and not value.args)


def _measured(program: Program, function: scope.Function, node: ast.AST, call: ast.Call) -> str | None:
    """`x` in `x.shape`, `x.size(0)`, `x.numel()`, `x.dtype`, `len(x)`, where it is surely a tensor."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="size" | "numel" | "dim")):
            sure = _is_tensor(program, function, owner, call)
        case ast.Attribute(value=owner, attr="shape"):
            sure = _is_tensor(program, function, owner, call) or is_part_of_input(program, function, owner)
        case ast.Call(func=ast.Name(id="len"), args=[ast.expr() as owner]):
            sure = _is_tensor(program, function, owner, call)
        case ast.Attribute(value=owner, attr="dtype"):
            sure = _is_tensor(program, function, owner, call) or _has_dtype_of_torch(
                program, function, owner, node, call
            )
        case _:
            return None
    if (
        not sure
        or _stands_in(program, function, owner)
        or not _is_plain(owner)
        or may_have_no_device(program, ast.unparse(owner), call)
        or _is_size(owner)
        or SureWhereabouts(program).source(owner) is Made.HOST
    ):
        return None
    return _spelled(program, owner)


def _spelled(program: Program, node: ast.expr) -> str:
    """An expression as it stands in the source, with its own quotes."""
    text = program.source.segment(program.source.span(node))
    return ast.unparse(node) if "\n" in text else text


def _stands_in(program: Program, function: scope.Function, node: ast.expr) -> bool:
    """Whether it may be an object of the file's own class with a shape and a dtype, as tensors have, and no device."""
    root = next((one.id for one in ast.walk(node) if isinstance(one, ast.Name)), "self")
    if scope.annotation(function, root) is not None:
        return False
    kept = ({one.attr for one in ast.walk(each) if isinstance(one, ast.Attribute)} for each in _stand_ins(program))
    return any("device" not in one for one in kept)


def _stand_ins(program: Program) -> Iterator[ast.ClassDef]:
    """Classes that keep a shape and a dtype of their own."""
    for one in program.names.classes:
        init = scope.constructor(one)
        kept = [each for each in ast.walk(init) if isinstance(each, ast.Assign)] if init is not None else []
        names = {name for each in kept for name in attributes_set(each)}
        if {"shape", "dtype"} <= names and not program.classes.is_module(one):
            yield one


def _is_size(node: ast.expr) -> bool:
    """A `torch.Size` has `numel()` and a length too, but no device."""
    return (dotted(node) or "").rpartition(".")[2].endswith(("size", "shape"))


def _is_plain(node: ast.expr) -> bool:
    allowed = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
    return all(isinstance(one, allowed) for one in ast.walk(node))


def _is_tensor(program: Program, function: scope.Function, node: ast.expr, call: ast.Call) -> bool:
    """By what the flow knows of the name; where it did not pass, by annotation or by what is done with it."""
    text = dotted(node)
    if text is None:
        return False
    if _is_said_to_be_list(function, text):
        return False
    known = program.facts.births.get(call)
    if known:
        return any(text == name for hand in known.values() for name, _ in hand.tensors)
    said = scope.annotation(function, text)
    if said is not None:
        return program.names.qualified(said) == "torch.Tensor"
    evidence = program.unit.evidence[function]
    stores = [line for line in evidence.stores.get(text, ()) if line <= node.lineno]
    return text not in evidence.numpy and evidence.is_tensor(text, max(stores, default=0))


def _is_said_to_be_list(function: scope.Function, name: str) -> bool:
    """`indices: A list of indices`, in the docstring."""
    said = ast.get_docstring(function) or ""
    line = rf"(?i)\b{re.escape(name)}\b[^\n]*:[^\n]*\blist\b"
    return name in scope.parameters(function) and re.search(line, said) is not None


def _has_dtype_of_torch(
    program: Program, function: scope.Function, owner: ast.expr, node: ast.Attribute, call: ast.Call
) -> bool:
    """`torch.zeros(3, dtype=x.dtype)`: what has a dtype of torch is a tensor, or a module, or a configuration."""
    given = any(one.arg == "dtype" and one.value is node for one in call.keywords)
    root = next((one.id for one in ast.walk(owner) if isinstance(one, ast.Name)), "self")
    last = (dotted(owner) or ast.unparse(owner)).rpartition(".")[2]
    if (
        not given
        or _OTHERS_WITH_DTYPE.search(last.lower())
        or (isinstance(owner, ast.Name) and root in {"self", "cls"})
    ):
        return False
    if (program.names.qualified(owner) or "").partition(".")[0] == "torch":
        return False
    evidence = program.unit.evidence[function]
    if {root, dotted(owner)} & (evidence.modules | evidence.numpy | evidence.called):
        return False
    text = dotted(owner)
    if any(
        isinstance(one, ast.Attribute) and dotted(one.value) == text and _is_foreign(program, one)
        for one in ast.walk(function)
    ):
        return False
    return not any(_makes_on_host(program, one) for one in _assigned(program, function, root))


def _is_foreign(program: Program, node: ast.Attribute) -> bool:
    """An attribute, no method, that tensors do not have."""
    parent = program.names.parent(node)
    return node.attr not in _ATTRIBUTES and not (isinstance(parent, ast.Call) and parent.func is node)


_ATTRIBUTES = frozenset(
    {"shape", "dtype", "device", "ndim", "grad", "T", "mT", "H", "data", "is_cuda", "layout", "requires_grad"}
)


_OTHERS_WITH_DTYPE = re.compile(
    r"model|net$|module|coder|unet|vae|config|cfg|args|opt|pipe|space|transformer|policy|np_|array|schema|spec|info|field|column|layer"
)


def _assigned(program: Program, function: scope.Function, name: str) -> Iterator[ast.expr]:
    for one in scope.stores(function, name):
        statement = program.names.statement(one)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value is not None:
            yield statement.value


def _makes_on_host(program: Program, value: ast.expr) -> bool:
    """Made here on the host, or no tensor of torch."""
    for one in ast.walk(value):
        if isinstance(one, ast.Call):
            name = program.names.qualified(one.func) or ""
            made = tables.canonical(name) in _MAKES | tables.HOST_FACTORIES
            if name.startswith("numpy") or (made and all(each.arg != "device" for each in one.keywords)):
                return True
    return False


def _by_sibling(
    program: Program, devices: Callable[[], Devices], function: scope.Function, call: ast.Call
) -> tuple[str, str] | None:
    """The device that the function, or the class for `self.device`, gives to other tensors, if it is bound here too."""
    if is_random(call) or is_tested(program, call) or _fills_part(program, call):
        return None
    own = {ast.unparse(one) for one in _devices_given(program, function)}
    owner = scope.class_around(program, call)
    around = list(_devices_given(program, owner)) if owner is not None else []
    shared = {text for one in around if (text := dotted(one)) is not None and _is_shared(program, one)}
    if "self" not in scope.parameters(function):
        shared = {one for one in shared if not one.startswith("self.")}
    if not own and (not shared or gives_number(function) or is_handed_out(program, function, call)):
        return None
    named = [one.text for one in devices().at(program.names.statement(call)) if not one.optional]
    for text in (*named, *sorted(shared)):
        if text in own or (text in shared):
            return text, f"{_BESIDE} `{text}`"
    return None


def _fills_part(program: Program, call: ast.Call) -> bool:
    """`x[i] = torch.cat([torch.zeros(3), torch.ones(3)])`: a copy, to wherever `x` is."""
    statement = program.names.statement(call)
    return isinstance(statement, ast.Assign) and all(isinstance(one, ast.Subscript) for one in statement.targets)


def _by_parameter(program: Program, function: scope.Function, call: ast.Call) -> tuple[str, str] | None:
    """The `device` of a method, maybe None, where it hands that to others, and the tensor to a part of `self`."""
    owner = scope.class_around(program, call)
    if owner is None or "device" not in scope.parameters(function) or not program.unit.classes.is_module(owner):
        return None
    if tables.canonical(program.names.qualified(call.func) or "") not in tables.FACTORIES:
        return None  # `.to(None)` is no move
    given = (one for each in ast.walk(function) if isinstance(each, ast.Call) for one in each.keywords)
    passed = any(one.arg == "device" and isinstance(one.value, ast.Name) and one.value.id == "device" for one in given)
    statement = program.names.statement(call)
    names = (
        {name for one in statement.targets for name in scope.stored(one)}
        if isinstance(statement, ast.Assign)
        else set()
    )
    if not passed or not any(_is_given_to_part(program, one) for one in scope.loads(function, names)):
        return None
    return "device", "is given to a part of the module, whose other inputs are made on `device`"


def _is_given_to_part(program: Program, node: ast.Name) -> bool:
    """An argument of `self.part(…)`, whole or in slices."""
    inner: ast.AST = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, ast.Call) and inner is not outer.func:
            text = dotted(outer.func) or ""
            return text.startswith("self.") and text.count(".") == 1
        if not isinstance(outer, (ast.Subscript, ast.keyword)):
            return False
        inner = outer
    return False


def _is_shared(program: Program, node: ast.expr) -> bool:
    """`self.device`, or a device of another module: the same in all methods."""
    text = dotted(node) or ""
    own = text in {"self.device", "self._device", "self.current_device", "self.torch_device"}
    return own or (program.names.qualified(node) is not None and text.endswith(".device"))


def _devices_given(program: Program, around: ast.AST) -> Iterator[ast.expr]:
    """The devices on which a scope makes tensors: `torch.zeros(3, device=d)`, `torch.tensor(x).to(d)`."""
    for one in walk(around):
        if isinstance(one, ast.Call):
            moved = isinstance(one.func, ast.Attribute) and one.func.attr == "to"
            made = one.func.value if moved and isinstance(one.func, ast.Attribute) else one
            given = [each.value for each in one.keywords if each.arg == "device"] + (one.args[:1] if moved else [])
            if given and isinstance(made, ast.Call) and _is_factory(program, made):
                yield from given


def _is_factory(program: Program, call: ast.Call) -> bool:
    return tables.canonical(program.names.qualified(call.func) or "") in _MAKES


def _by_item(program: Program, function: scope.Function, call: ast.Call) -> str | None:
    """The tensor into which it is put, made like one that the caller gave: `out = torch.zeros_like(x); out[i] = …`."""
    statement = program.names.statement(call)
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    name = target.value.id
    values = list(_assigned(program, function, name))
    if not values or name in scope.parameters(function) or not all(_is_like(program, function, one) for one in values):
        return None
    return f"{name}.device"


def _is_like(program: Program, function: scope.Function, value: ast.expr) -> bool:
    """`torch.empty_like(x)` of a parameter."""
    if isinstance(value, ast.Tuple):
        return any(_is_like(program, function, one) for one in value.elts)
    if not isinstance(value, ast.Call) or program.names.qualified(value.func) not in tables.LIKE_FACTORIES:
        return False
    return bool(value.args) and (dotted(value.args[0]) or "").partition(".")[0] in scope.parameters(function)
