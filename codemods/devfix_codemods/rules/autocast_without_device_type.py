"""`torch.amp.autocast` called without the device type that it requires.

## What it does

Gives each call of `torch.autocast` and `torch.amp.autocast` its missing device type, and each `torch.amp.custom_fwd`
and `custom_bwd` too. Which type: what another autocast in the same file has; else the type of a `torch.device` that is
bound on every path to the call; else that of a tensor which the function was given; else `"cuda"`, what
`torch.cuda.amp` meant.

Where `autocast` comes from `torch.amp` or, if that cannot be imported, from `torch.cuda.amp`, no call is right for
both: one requires the device type, the other has no such parameter. There the calls get the type, and the fall-back
becomes `from torch import autocast`, which has taken it since torch 1.10. `GradScaler` needs no device in such a file,
since `torch.amp.GradScaler` assumes `"cuda"`; a `"cuda"` that the fall-back would take for the initial scale is
removed.

## Why it fails

    TypeError: autocast.__init__() missing 1 required positional argument: 'device_type'
    ValueError: Expected `device_type` of type `str`, got: `<class 'bool'>`
    ValueError: Expected `device_type` of type `str`, got: `<class 'torch.dtype'>`

and, where the fall-back import is taken and the call has the type:

    TypeError: autocast.__new__() got multiple values for argument 'enabled'

## Before

    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        validate(model)
    with torch.amp.autocast(enabled=use_amp, dtype=torch.bfloat16):
        loss = model(batch)

## After

    with torch.amp.autocast("cuda", dtype=torch.bfloat16):
        validate(model)
    with torch.amp.autocast("cuda", enabled=use_amp, dtype=torch.bfloat16):
        loss = model(batch)

## Fix safety

Safe: the call raises whenever it is reached. The calls and the import of a try/except pair are one fix. A call with
`*args` or `**options` may have its type in there and is left alone, and so is one behind a test of torch's version.

## Since torch

`torch.autocast` 1.10.
"""

from collections.abc import Iterator

from devfix_codemods.findings import Finding
from devfix_codemods.precision.missing import Missing
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def _check(program: Program) -> Iterator[Finding]:
    for one in Missing(program.unit, lambda: program.index).told():
        span = program.source.span(one.node)
        yield Finding(RULE.code, RULE.name, one.message, span, fix=one.fix, advice=one.advice)


RULE = Rule(
    code="DVF301",
    name="autocast-without-device-type",
    triggers=((b"autocast",), (b"custom_fwd",), (b"custom_bwd",), (b"GradScaler", b"except"), (b"GradScaler", b"else")),
    check=_check,
)
