"""Mixed precision through `torch.cuda.amp` and `torch.cpu.amp`, which are deprecated.

## What it does

Moves `autocast`, `GradScaler`, `custom_fwd` and `custom_bwd` from `torch.cuda.amp` and `torch.cpu.amp` to `torch.amp`,
with the device type that the old name implied. The import and every use of the imported name are one fix: they are
changed together or not at all. Arguments are matched by signature: the old `autocast` takes `enabled` first, the new
one `device_type, dtype, enabled`, so positional arguments become keywords.

Left alone: imports under `try`/`except ImportError` or behind a test of torch's version, an arm whose other one does
the same with the new name, names that the module offers to others (`__init__.py`, `__all__`), text and comments. A
class that is handed on uncalled carries the device type in a `functools.partial` where all later calls are seen;
elsewhere such a name is reported and not changed, as is one in code that provides for a torch older than the new name:
the file, its package or what they import compares torch's version, asks `hasattr(torch, ...)`, or lets an import from
torch fail. So is `isinstance` with a `torch.cuda.amp.GradScaler` that is made elsewhere, as long as torch 2.3 is not
known to be there.

## Why it fails

Since torch 2.4 every use warns, which fails where warnings are errors:

    FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated.
    Please use `torch.amp.autocast('cuda', args...)` instead.

and the same of `torch.cuda.amp.GradScaler`, `custom_fwd`, `custom_bwd`, `torch.cpu.amp.autocast` and `GradScaler`.

## Before

    from torch.cuda.amp import GradScaler, autocast

    scaler = GradScaler(enabled=use_amp)
    with autocast(use_amp, torch.bfloat16):
        loss = model(batch)

## After

    from torch.amp import GradScaler, autocast

    scaler = GradScaler("cuda", enabled=use_amp)
    with autocast("cuda", enabled=use_amp, dtype=torch.bfloat16):
        loss = model(batch)

## Fix safety

Safe: the old classes only pass the device type on. The literal is written, not `device.type`, because
`torch.cuda.amp` switches itself off where there is no CUDA, and `autocast("cpu")` and `GradScaler("cpu")` do not.
Two defaults differ where contexts are nested: the old `autocast()` always means `float16`, the new one whatever the
context around it means, so inside of an autocast with another dtype in the same function the fix is unsafe, and where
the file calls `torch.set_autocast_dtype`. It is unsafe too where the old name, which takes it for `enabled`, is given
a device type that may be another one; where `isinstance` asks for a `torch.cuda.amp.GradScaler`, a subclass of
`torch.amp.GradScaler`, that is made elsewhere: the test then accepts more; and for a `partial(autocast, ...)` that
code elsewhere may call with positional arguments.

## Since torch

`torch.amp.autocast` 1.12, `torch.amp.GradScaler` 2.3, `torch.amp.custom_fwd` and `custom_bwd` 2.4.
"""

from collections.abc import Iterable, Iterator
from operator import attrgetter

from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.precision import api
from devfix_codemods.precision.kept import is_put_off, tests_old_names
from devfix_codemods.precision.renamed import SINCE, Grouping
from devfix_codemods.precision.uses import Shape, Use
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def _check(program: Program) -> Iterable[Finding]:
    if tests_old_names(program.unit):
        return []
    groups = Grouping(program.unit, program.project, program.target).groups()
    return sorted((one for group in groups for one in _findings(program, *group)), key=attrgetter("span"))


def _findings(program: Program, uses: list[Use], edits: list[Edit]) -> Iterator[Finding]:
    obstacle = next((one.obstacle for one in uses if one.obstacle), None)
    if obstacle is None and any(is_put_off(program.unit, one) for one in uses):
        obstacle = "a comment above it says that it is too early"
    loud = [one for one in uses if not one.silent]
    fix = None if obstacle or len(loud) < len(uses) else _fix(uses, edits)
    for one in loud:
        yield Finding(
            RULE.code,
            RULE.name,
            _message(one.old),
            program.source.span(api.called(program.names, one.node) or one.node),
            fix=fix,
            advice=None if fix else _advice(one.old, obstacle),
        )


def _message(old: api.Old) -> str:
    name = f"torch.{old.device}.amp.{old.symbol}"
    return f"`{name}` is deprecated and warns since torch 2.4; `torch.amp.{old.symbol}` takes the device type"


def _advice(old: api.Old, obstacle: str | None) -> str:
    reason = obstacle or "another use of this name depends on torch's version, or on which class it is"
    return f"not rewritten: {reason}; use `torch.amp.{old.symbol}` with the device type `{old.device}` throughout"


def _fix(uses: list[Use], edits: list[Edit]) -> Fix:
    symbols = sorted({one.old.symbol for one in uses})
    makes = any(one.shape is Shape.CALL and one.old.symbol == "GradScaler" for one in uses)
    risks = [one.risk for one in uses if one.risk and not (makes and one.is_tested_class)]
    title = "use " + " and ".join(f"`torch.amp.{one}`" for one in symbols)
    return Fix(
        Safety.UNSAFE if risks else Safety.SAFE,
        f"{title} ({risks[0]})" if risks else title,
        tuple(dict.fromkeys(edits)),
        max(SINCE[one] for one in symbols),
    )


RULE = Rule(
    code="DVF302",
    name="deprecated-amp",
    triggers=((b"cuda.amp",), (b"cpu.amp",), (b"cuda import", b"amp"), (b"cpu import", b"amp")),
    check=_check,
)
