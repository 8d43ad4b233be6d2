"""A checkpoint is loaded to a number.

## What it does

Finds `torch.load` whose `map_location` is a number: `0`, `torch.cuda.current_device()`, `int(os.environ["LOCAL_RANK"])`
or a rank, and a name that holds nothing else. Says which device it is.

## Why it fails

`map_location` is text, a `torch.device`, a dict or a function. A number is none of the first three, so torch calls it:

    TypeError: 'int' object is not callable

## Before

    state = torch.load(path, map_location=torch.cuda.current_device())

## After

    state = torch.load(path, map_location=torch.device("cuda", torch.cuda.current_device()))

## Fix safety

Safe for `torch.cuda.current_device()`: the load fails today for every tensor, and the number is one of CUDA's. Unsafe
for every other number: that it is one of CUDA's is a choice. Where the file has no name for `torch`, advice only. Names
whose value is not known, as parameters, and names that may hold something else are left alone.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.index import called
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.placement.arguments import argument
from devfix_codemods.placement.origins import Origins
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule

_CURRENT = "torch.cuda.current_device"
_NUMBERS = (_CURRENT, "torch.distributed.get_rank", "builtins.int")


def check(program: Program) -> Iterator[Finding]:
    """Loads whose place is a number, whatever the path to them."""
    loads = [one for one in program.names.calls if program.names.qualified(one.func) == "torch.load"]
    for call in loads:
        place = _place(call)
        load = program.index.nodes.get(call)
        if place is None or load is None:
            continue
        given = argument(load, 1, "map_location")
        made = _made(program.index.origins, given) if given is not None else []
        if made and all(map(_is_number, made)):
            surely_cuda = all(called(one, _CURRENT) for one in made)
            yield _finding(program, call, place, Safety.SAFE if surely_cuda else Safety.UNSAFE)


def _place(call: ast.Call) -> ast.expr | None:
    """What the load is given for `map_location`, as it is written."""
    if len(call.args) > 1 and not any(isinstance(one, ast.Starred) for one in call.args):
        return call.args[1]
    return next((one.value for one in call.keywords if one.arg == "map_location"), None)


def _made(origins: Origins, given: Node) -> list[Node]:
    """All that the place may be; nothing where a caller chooses: of callers, only those of this file are known."""
    pending, seen = [given], set[Node]()
    while pending:
        one = pending.pop()
        if one.op is Op.PARAM:
            return []
        if one not in seen:
            seen.add(one)
            pending += origins.before(one)
    return origins.of(given)


def _is_number(made: Node) -> bool:
    return (made.op is Op.CONST and type(made.extra) is int) or called(made, *_NUMBERS)


def _finding(program: Program, call: ast.Call, place: ast.expr, safety: Safety) -> Finding:
    number = program.source.segment(program.source.span(place))
    fix = None
    if isinstance(call.func, ast.Attribute):
        torch = program.source.segment(program.source.span(call.func.value))
        name = f'{torch}.device("cuda", {number})'
        fix = Fix(safety, f"Name the device: `{name}`", (ReplaceExpression(program.source.span(place), name),))
    return Finding(
        RULE.code,
        RULE.name,
        f"`map_location={number}` is a number, which `torch.load` takes for a function and calls",
        program.source.span(call),
        fix=fix,
        advice=None if fix else f'write `"cuda:{number}"`',
    )


RULE = Rule("DVF406", "load-to-number", ((b"load", b"map_location"), (b"load", b"current_device")), check)
