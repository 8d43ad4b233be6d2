"""A generator draws numbers for another device than its own.

## What it does

Compares the device of each `torch.Generator` with the place that is filled from it: `torch.randn(…, generator=g)`,
`torch.multinomial`, `x.normal_(generator=g)`, samplers and `random_split`. It also finds generators of the host that a
module keeps and draws with where its input is, noise that is drawn on the host with the caller's generator and moved
afterwards, and the state of the host's generator that a checkpoint may have taken to a device.

## Why it fails

A generator only fills memory of its own kind of device:

    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'

Indices of samplers and splits are drawn on the host. `torch.set_rng_state` wants its bytes on the host:

    TypeError: RNG state must be a torch.ByteTensor

## Before

    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(shape, generator=generator, device=device)

## After

    generator = torch.Generator(device=device).manual_seed(0)
    noise = torch.randn(shape, generator=generator, device=device)

## Fix safety

Safe where all that the generator fills is on one device, which has a name where the generator is made: the program
fails there today, and on the host nothing changes. Noise drawn with a caller's generator is drawn on that generator's
device and moved as before, so that no working seed gives other numbers; that is safe too, as is `.cpu()` on the state
of the host's generator. Unsafe where a sampler gets the generator of a device, which is right under a default device
that another file sets. Where a generator serves two devices, or a module keeps it, the finding has no fix.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from devfix_codemods import scope
from devfix_codemods.edits.operations import Argument, ReplaceExpression, RewriteCall
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Draw
from devfix_codemods.flow.places import Device, Host, Relation, Symbol, describe, relation
from devfix_codemods.flow.tables import FACTORIES, GENERATORS, canonical
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._arguments import with_argument
from devfix_codemods.rules._guarded import may_be_written
from devfix_codemods.rules._kept_generators import kept_generators
from devfix_codemods.rules._moves import device_for, text_of
from devfix_codemods.rules._restored_states import comes_from_checkpoint

_MADE = GENERATORS | {"torch.manual_seed"}
_STATES = frozenset({"torch.set_rng_state", "torch.random.set_rng_state"})


def check(program: Program) -> Iterator[Finding]:
    for call in program.names.calls:
        name = canonical(program.names.qualified(call.func) or "")
        if name in _STATES and comes_from_checkpoint(program, call):
            yield _of_state(program, call)
        elif name in FACTORIES and (drawn := _drawn_for_caller(program, call)) is not None:
            yield _of_noise(program, call, drawn)
    if any(canonical(program.names.qualified(call.func) or "") in _MADE for call in program.names.calls):
        told = list(_mismatches(program))
        yield from told
        spans = {one.span for one in told} | {one.origin for one in told}
        for made, call, place in kept_generators(program):
            if spans.isdisjoint({program.source.span(made), program.source.span(call)}):
                spans.add(program.source.span(made))
                yield _of_kept(program, made, call, place)


# -- a generator and what it fills


def _mismatches(program: Program) -> Iterator[Finding]:
    told: set[ast.AST] = set()
    for draw in program.facts.draws:
        origin = draw.generator.value.origin
        if origin is None or not (_differ(draw) or _follows_caller(draw)):
            continue
        if origin.node not in told and isinstance(origin.node, ast.Call):
            told.add(origin.node)
            yield _finding(program, draw, origin.node)


def _differ(draw: Draw) -> bool:
    return relation(draw.generator.place, draw.place) is Relation.DIFFERENT


def _follows_caller(draw: Draw) -> bool:
    """Whether a generator of the host draws where the caller's tensor, or device, is: `device=x.device`."""
    on_host = isinstance(draw.generator.place, Host) and isinstance(draw.place, Symbol)
    given = [one.value for one in draw.node.keywords if one.arg == "device"]
    return on_host and not draw.samples and bool(given) and dotted(given[0]) is not None


def _finding(program: Program, draw: Draw, birth: ast.Call) -> Finding:
    made = program.source.span(birth)
    fix = _fix(program, draw, birth)
    filled = "indices on the host" if draw.samples else f"numbers {_words(draw)}"
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"a generator {describe(draw.generator.place)} draws {filled}",
        span=program.source.span(draw.node),
        origin=made,
        trail=(
            Step(made, f"the generator is made here, {describe(draw.generator.place)}"),
            Step(program.source.span(draw.generator.node), f"it draws {filled} here"),
        ),
        fix=fix,
        advice=None if fix else _BY_DEFAULT if draw.samples else _ITS_OWN,
    )


def _of_kept(program: Program, made: ast.Call, call: ast.Call, place: str) -> Finding:
    """A module takes its tensors along, and its generator stays behind."""
    birth, span = program.source.span(made), program.source.span(call)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"a generator on the host, which no move of the module takes along, draws numbers on `{place}`",
        span=span,
        origin=birth,
        trail=(Step(birth, "the generator is made here, on the host"), Step(span, f"it draws on `{place}` here")),
        advice="draw on the host, and move the numbers; or make a generator on the device of what it fills",
    )


_ITS_OWN = "give each device a generator of its own: `torch.Generator(device=…)`"
_BY_DEFAULT = "indices are drawn on the host, but for a program that sets a default device"


def _words(draw: Draw) -> str:
    name = device_for(draw.place, draw.devices)
    return f"on `{name}`" if name else describe(draw.place)


def _fix(program: Program, draw: Draw, birth: ast.Call) -> Fix | None:
    shared = [
        one
        for one in program.facts.draws
        if one.generator.value.origin is not None and one.generator.value.origin.node is birth
    ]
    if canonical(program.names.qualified(birth.func) or "") not in GENERATORS:
        return None  # the host's default generator
    if isinstance(draw.place, Host) and not draw.samples:
        shared = [one for one in shared if one.place != draw.generator.place]  # those that draw there are right
    if not all(_alike(draw, one) for one in shared):
        return None
    if draw.samples and _is_for_generators(program, birth):
        return None
    if draw.samples:
        edit = ReplaceExpression(program.source.span(birth), f"{text_of(program, birth.func)}()")
        return Fix(Safety.UNSAFE, "Make the generator on the host, where indices are drawn", (edit,))
    if isinstance(draw.place, Host):
        return _drawn_on_device(program, draw, shared)
    return _made_on_device(program, draw, birth, shared)


def _is_for_generators(program: Program, birth: ast.Call) -> bool:
    """Whether a function chooses the device for generators alone: for its default device, which is set elsewhere."""
    function, given = scope.function_around(program, birth), scope.given_to(birth)
    name = given[0].id if len(given) == 1 and isinstance(given[0], ast.Name) else None
    if function is None or name is None or name in scope.parameters(function) or not any(scope.stores(function, name)):
        return False
    made = [one for one in program.names.calls if canonical(program.names.qualified(one.func) or "") in GENERATORS]
    taken = {id(each) for one in made for each in scope.given_to(one)}
    return all(id(one) in taken for one in scope.loads(function, {name}))


def _alike(draw: Draw, other: Draw) -> bool:
    """Whether two draws ask for one device; seen through another call, it has another name."""
    if draw.context == other.context:
        return draw.place == other.place and draw.samples == other.samples
    return _differ(other) and draw.samples == other.samples


def _made_on_device(program: Program, draw: Draw, birth: ast.Call, shared: list[Draw]) -> Fix | None:
    """The host's generator is made for the device that it fills."""
    statement = program.names.statement(birth)
    inline = statement is program.names.statement(draw.node)
    devices = draw.devices if inline else program.facts.devices_at.get(statement, ())
    name = device_for(draw.place, devices)
    if name is None and isinstance(draw.place, Device):
        name = f'"{draw.place.name}"'
    name = name or _of_parameter(program, draw, birth)
    if name is None or birth.args or birth.keywords:
        return None
    if not may_be_written(program, f".to({name})", draw.node, statement, draw.context.sites):
        return None
    edit = RewriteCall(program.source.span(birth), None, (Argument(name, "device"),))
    safety = Safety.SAFE if _serves_only(program, birth, shared) else Safety.UNSAFE
    return Fix(safety, f"Make the generator on `{name.strip(chr(34))}`, where it draws", (edit,))


def _of_parameter(program: Program, draw: Draw, birth: ast.Call) -> str | None:
    """`x.device` of a parameter, which is bound where the generator is made too."""
    given = next((one.value for one in draw.node.keywords if one.arg == "device"), None)
    text = dotted(given) if given is not None else None
    function = draw.context.function
    if (
        text is None
        or function is None
        or any(scope.function_around(program, one) is not function for one in (draw.node, birth))
    ):
        return None
    root = text.partition(".")[0]
    return text if root in scope.parameters(function) and not any(scope.stores(function, root)) else None


def _drawn_on_device(program: Program, draw: Draw, shared: list[Draw]) -> Fix | None:
    """Factories draw where the generator lives."""
    device = _own_device(program, draw)
    nodes = list(dict.fromkeys(one.node for one in shared))
    if device is None or not all(_is_bare_factory(program, node) for node in nodes):
        return None
    edits = tuple(with_argument(node, program.source.span(node), device, "device") for node in nodes)
    moved = all(_move_after(program, node) is not None for node in nodes)
    return Fix(Safety.SAFE if moved else Safety.UNSAFE, f"Draw on `{device}`, where the generator lives", edits)


def _own_device(program: Program, draw: Draw) -> str | None:
    name = dotted(draw.generator.node)
    return device_for(draw.generator.place, draw.devices) or (f"{name}.device" if name else None)


def _is_bare_factory(program: Program, node: ast.Call) -> bool:
    name = canonical(program.names.qualified(node.func) or "")
    return name in FACTORIES and all(one.arg not in {"device", "out", None} for one in node.keywords)


def _serves_only(program: Program, birth: ast.Call, draws: list[Draw]) -> bool:
    """Whether the generator is read for nothing but the draws that were seen."""
    statement = program.names.statement(birth)
    if not isinstance(statement, ast.Assign):
        return statement is program.names.statement(draws[0].node)
    name = dotted(statement.targets[0])
    known = {id(one.generator.node) for one in draws}
    around = scope.function_around(program, birth) or program.tree
    reads = [
        node
        for node in ast.walk(around)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load) and dotted(node) == name
    ]
    seeded = {
        id(call.func.value) for call in program.names.calls if _seeds(call) and isinstance(call.func, ast.Attribute)
    }
    return name is not None and "." not in name and all(id(node) in known | seeded for node in reads)


def _seeds(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in {"manual_seed", "seed", "initial_seed"}


# -- noise for a caller


def _drawn_for_caller(program: Program, call: ast.Call) -> str | None:
    """The parameter from which a factory draws on the host, where the result is moved at once."""
    given = next((one.value for one in call.keywords if one.arg == "generator"), None)
    function = scope.function_around(program, call)
    if not isinstance(given, ast.Name) or function is None or not _is_bare_factory(program, call):
        return None
    if given.id not in scope.parameters(function) or any(scope.stores(function, given.id)):
        return None
    return given.id if _joins_parameter(program, call, function) else None


def _joins_parameter(program: Program, call: ast.Call, function: scope.Function) -> bool:
    """Whether the result is moved to the device of a tensor that the caller gave: its generator may well be there too.

    Noise that goes to a device of the program's own choice is often drawn on the host on purpose.
    """
    move = _move_after(program, call)
    target = _target(move) if move is not None else None
    if isinstance(target, ast.Name):
        target = next((one.value for one in ast.walk(function) if _assigns(one, target.id)), target)
    given = set(scope.parameters(function))
    return target is not None and any(
        isinstance(node, ast.Attribute) and node.attr == "device" and dotted(node.value) in given
        for node in ast.walk(target)
    )


def _assigns(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and name in scope.stored(node)


def _move_after(program: Program, call: ast.Call) -> ast.Call | None:
    """`torch.randn(…).to(device)`: the move, where it goes to no constant but a device."""
    method = program.names.parent(call)
    move = program.names.parent(method) if isinstance(method, ast.Attribute) else None
    if not isinstance(move, ast.Call) or not isinstance(method, ast.Attribute) or move.func is not method:
        return None
    if method.attr == "cuda":
        return move
    target = _target(move)
    if method.attr != "to" or target is None:
        return None
    text = ast.unparse(target).lower()
    return move if ("device" in text and "dtype" not in text) or text.strip("'\"").startswith("cuda") else None


def _target(move: ast.Call) -> ast.expr | None:
    return next((one.value for one in move.keywords if one.arg == "device"), move.args[0] if move.args else None)


def _of_noise(program: Program, call: ast.Call, name: str) -> Finding:
    span = program.source.span(call)
    device = f"{name}.device if {name} is not None else None"
    edit = with_argument(call, program.source.span(call), device, "device")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}` draws on the host whatever its device: one made on a device is refused here",
        span=span,
        trail=(Step(span, "the numbers are drawn on the host, and moved to the device afterwards"),),
        fix=Fix(Safety.SAFE, f"Draw on the device of `{name}`", (edit,)),
    )


# -- the state of the host's generator


def _of_state(program: Program, call: ast.Call) -> Finding:
    state = call.args[0]
    text = text_of(program, state)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text}` may have been restored on a device; the state of the host's generator must be on the host",
        span=program.source.span(call),
        fix=Fix(
            Safety.SAFE,
            f"Take `{text}` to the host",
            (ReplaceExpression(program.source.span(state), "__node__.cpu()"),),
        ),
    )


RULE = Rule(
    "DVF404",
    "generator-device",
    (
        (b"generator=", b".to("),
        (b"torch.Generator(", b"generator="),
        (b"Generator(", b"generator="),
        (b"generator=torch.manual_seed(",),
        (b"set_rng_state(",),
    ),
    check,
)
