"""`diffusers.EMAModel`: averages that stay on the host beside a model that accelerate moves."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_EMA = frozenset({"diffusers.training_utils.EMAModel", "diffusers.EMAModel"})
_ACCELERATORS = frozenset({"accelerate.Accelerator", "accelerate.accelerator.Accelerator"})
_PLACES = frozenset({"to", "pin_memory"})


@dataclass(frozen=True, slots=True)
class StrayAverage:
    """The average `name`, on the host from `node` on, and the move that brings it along."""

    name: str
    node: ast.Call
    reason: str
    device: str
    safety: Safety
    edit: InsertStatement


def stray_averages(program: Program) -> Iterator[StrayAverage]:
    """Averages that are never moved, or are loaded on the host after they were."""
    accelerator = _accelerator(program)
    if accelerator is None:
        return
    built = [one for one in program.names.calls if program.names.qualified(one.func) in _EMA]
    for build in built:
        statement = program.names.statement(build)
        if not isinstance(statement, ast.Assign) or statement.value is not build:
            continue
        name = dotted(statement.targets[0])
        if name is None or "." in name or _uses(program, name, "from_pretrained"):
            continue
        yield from _of_average(program, name, statement, f"{accelerator}.device")


def _of_average(program: Program, name: str, built: ast.Assign, device: str) -> Iterator[StrayAverage]:
    placed = _uses(program, name, *_PLACES)
    for load in _uses(program, name, "load_state_dict"):
        hook = scope.function_around(program, load)
        inside = hook is not None and hook is not scope.function_around(program, built)
        if inside and not any(scope.function_around(program, one) is hook for one in placed):
            yield _after_load(program, name, load, device, bool(placed))
    outer = scope.function_around(program, built)
    if any(scope.function_around(program, one) is outer for one in placed) or _is_given(program, name):
        return
    prepared = _prepared(program, built, device)
    if prepared is not None and not _follows_moved(program, built):
        yield from _after_prepare(program, name, built, prepared, device)


def _after_load(program: Program, name: str, load: ast.Call, device: str, is_placed: bool) -> StrayAverage:
    edit = InsertStatement(program.source.span(program.names.statement(load)), "after", f"{name}.to({device})")
    safety = Safety.SAFE if is_placed and not _uses(program, name, "pin_memory") else Safety.UNSAFE
    return StrayAverage(name, load, "what is loaded replaces its weights by those on the host", device, safety, edit)


def _after_prepare(
    program: Program, name: str, built: ast.Assign, prepared: ast.Call, device: str
) -> Iterator[StrayAverage]:
    anchor, around = program.names.statement(prepared), program.names.parent(built)
    beside = program.names.parent(anchor)
    code = f"{name}.to({device})"
    if isinstance(around, ast.If) and around is not beside:
        if built not in around.body or dotted(around.test) is None or program.names.parent(around) is not beside:
            return
        code = f"if {ast.unparse(around.test)}:\n    {code}"
    elif around is not beside:
        return
    edit = InsertStatement(program.source.span(anchor), "after", code)
    reason = "accelerate moves the model, and nothing moves the average"
    yield StrayAverage(name, prepared, reason, device, Safety.UNSAFE, edit)


def _accelerator(program: Program) -> str | None:
    """The name of the one accelerator of the file."""
    found: set[str | None] = set()
    for one in program.names.calls:
        if program.names.qualified(one.func) in _ACCELERATORS:
            statement = program.names.statement(one)
            found.add(dotted(statement.targets[0]) if isinstance(statement, ast.Assign) else None)
    return found.pop() if len(found) == 1 else None


def _uses(program: Program, name: str, *methods: str) -> list[ast.Call]:
    names = {f"{name}.{one}" for one in methods}
    return [one for one in program.names.calls if dotted(one.func) in names]


def _is_given(program: Program, name: str) -> bool:
    """Whether something else gets the average, and may move it."""
    return any(
        isinstance(one, ast.Name) and one.id == name
        for call in program.names.calls
        if not (dotted(call.func) or "").endswith("register_for_checkpointing")
        for one in scope.given_to(call)
    )


def _prepared(program: Program, built: ast.Assign, device: str) -> ast.Call | None:
    """The one `prepare` after `built` in the same function, with its results assigned."""
    method = device.rpartition(".")[0] + ".prepare"
    outer = scope.function_around(program, built)
    found = [
        one
        for one in program.names.calls
        if dotted(one.func) == method and one.lineno > built.lineno and scope.function_around(program, one) is outer
    ]
    plain = [one for one in found if isinstance(program.names.statement(one), ast.Assign)]
    return plain[0] if len(found) == len(plain) == 1 else None


def _follows_moved(program: Program, built: ast.Assign) -> bool:
    """Whether the weights that are averaged were moved before: the copies are where they are."""
    roots = {one.id for one in ast.walk(built.value) if isinstance(one, ast.Name)}
    for call in program.names.calls:
        if call.lineno >= built.lineno or not isinstance(call.func, ast.Attribute):
            continue
        moved = call.func.attr in {"to", "cuda"} and (dotted(call.func.value) or "") in roots
        prepared = call.func.attr == "prepare" and any(
            isinstance(one, ast.Name) and one.id in roots for one in call.args
        )
        if moved or prepared:
            return True
    return False
