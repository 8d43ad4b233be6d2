"""One `device` for all that a function takes to a model that it is given, instead of asking the model each time."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.flow.tree import stored
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import Site
from devfix_codemods.rules._cuda_targets import Target

_FEW = 2
"""How many values must follow a model before a name for its device is worth a line."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The device expression of a model, and the line that names it `device`."""

    device: str
    binding: InsertStatement


def shared_devices(program: Program, followed: Mapping[Site, Target]) -> dict[Site, Shared]:
    """The sites that such a line serves: those that follow one model in a function. Others there follow it then."""
    groups: dict[scope.Function, dict[str, list[Site]]] = {}
    for site, target in followed.items():
        function = scope.function_around(program, site.call)
        if function is not None and target.device.startswith("next("):
            groups.setdefault(function, {}).setdefault(target.device, []).append(site)
    found: dict[Site, Shared] = {}
    for function, devices in groups.items():
        device, sites = next(iter(devices.items()))
        first = _first(program, function, sites)
        if len(devices) == 1 and len(sites) >= _FEW and first is not None and not _names_device(function):
            binding = InsertStatement(program.source.span(first), "before", f"device = {device}")
            found |= dict.fromkeys(sites, Shared(device, binding))
    return found


def siblings(program: Program, followed: Mapping[Site, Target], left: list[Site]) -> dict[Site, Target]:
    """The sites of elements that a loop yields beside one which follows a model: they go there as well."""
    found: dict[Site, Target] = {}
    for site, target in followed.items():
        if target.device.startswith("next(") and (names := _beside(program, site)):
            others = (one for one in left if _loop(program, one) is _loop(program, site) and _name(one) in names)
            found |= dict.fromkeys(others, target)
    return found


def _beside(program: Program, site: Site) -> set[str]:
    """The names that the loop around a site gives the parts of a batch, if the moved value has one of them."""
    loop = _loop(program, site)
    if loop is None:
        return set()
    names = stored(loop.target)
    for one in loop.body:
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and one.value.id in names:
            names = names | stored(one.targets[0])
    return names if _name(site) in names else set()


def _loop(program: Program, site: Site) -> ast.For | None:
    return next((one for one in program.names.ancestors(site.call) if isinstance(one, ast.For)), None)


def _name(site: Site) -> str | None:
    return site.receiver.id if isinstance(site.receiver, ast.Name) else None


def halves(program: Program, followed: Mapping[Site, Target], left: list[Site]) -> list[Site]:
    """Sites that follow a value in a function of which another one goes to CUDA all the same."""
    return [
        site
        for site, target in followed.items()
        if any(_is_beside(program, site, one) and _name(one) != target.device.partition(".")[0] for one in left)
    ]


def _is_beside(program: Program, site: Site, other: Site) -> bool:
    function = scope.function_around(program, site.call)
    return function is not None and scope.function_around(program, other.call) is function


def _names_device(function: scope.Function) -> bool:
    return any(
        (isinstance(one, ast.Name) and one.id == "device") or (isinstance(one, ast.arg) and one.arg == "device")
        for one in ast.walk(function)
    )


def _first(program: Program, function: scope.Function, sites: list[Site]) -> ast.stmt | None:
    """The statement that holds the first site, in the innermost block that a run chooses for all of them.

    None where each stands in a branch of its own: where none of them runs, the model may have no parameters.
    """
    chosen = [_chosen(program, one) for one in sites]
    common = [each for each in chosen[0] if all(any(each is one for one in other) for other in chosen)]
    if all(len(one) > len(common) for one in chosen):
        return None
    line = min(one.call.lineno for one in sites)
    block = common[0] if common else function.body
    return next(one for one in block if one.lineno <= line <= (one.end_lineno or one.lineno))


def _chosen(program: Program, site: Site) -> list[list[ast.stmt]]:
    """The blocks around a site that not every run of its function goes through to there, the innermost first."""
    found: list[list[ast.stmt]] = []
    inner = program.names.statement(site.call)
    for outer in program.names.ancestors(inner):
        if isinstance(outer, scope.Function):
            break
        if isinstance(outer, ast.stmt):
            block = scope.block_of(program, inner)
            above = block[: block.index(inner)] if inner in block else []
            if isinstance(outer, ast.If) or any(isinstance(one, ast.If) and scope.leaves(one.body) for one in above):
                found.append(block)
            inner = outer
    return found
