"""A device where mixed precision wants the type of one.

## What it does

Turns what `torch.autocast`, `torch.amp.GradScaler`, `torch.amp.custom_fwd`, `custom_bwd` and `is_autocast_available`
are given into the type of a device: a `torch.device` gets `.type`, `str(device)` becomes `device.type`, `"cuda:0"`
becomes `"cuda"`, and a name that may hold such text goes through `torch.device(...).type`. The keyword is `device_type`
for `autocast` and `device` for `GradScaler`; the one in the place of the other is renamed.

A `with torch.autocast("cuda")` in a function that is given a tensor gets the type of the tensor's device, where nothing
around it speaks of devices; one that is on wherever a device is not the host (`enabled=device.type != "cpu"`, or a test
around it) gets the type of that device. A `forward` kept in float32 by `@torch.autocast("cuda", …)` is reported.

A name counts as a `torch.device` by what is written: an annotation, unless text is seen to come there, or
`torch.device(...)` assigned to it wherever it is assigned. Everything else stays as it is.

## Why it fails

    ValueError: Expected `device_type` of type `str`, got: `<class 'torch.device'>`
    RuntimeError: User specified an unsupported autocast device_type 'cuda:0'
    TypeError: autocast.__init__() got an unexpected keyword argument 'device'
    TypeError: GradScaler.__init__() got an unexpected keyword argument 'device_type'
    TypeError: _is_autocast_available(): argument 'device_type' (position 1) must be str, not torch.device

torch 2.4 and later accept `"cuda:0"` in `autocast`, the second message is that of older ones. `custom_fwd` and
`GradScaler` compare their text with `"cuda"`: with an index, `cast_inputs` casts nothing, `update(new_scale)` refuses
the scale, and the scaler stays on where there is no CUDA. An `autocast("cuda")` around data that is elsewhere does
nothing, or does not switch off what is on:

    UserWarning: User provided device_type of 'cuda', but CUDA is not available. Disabling

## Before

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = model(batch)

## After

    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    with torch.autocast(device.type, dtype=torch.bfloat16):
        loss = model(batch)

## Fix safety

Safe where the call raises today, and for the index in `autocast`, which newer torch ignores. Unsafe for what works in
another way today (`GradScaler`, an index in `custom_fwd`, a literal `"cuda"`), and where it is not known whether a
name holds text or a `torch.device`: then `torch.device(name).type` is written, which is right for both. A literal
`"cuda"` stays where numpy reads results as they are: on the host, autocast would give bfloat16, which numpy has not;
where `dtype` is float16, in which nothing runs on the host now; and in code that provides for a torch older than 2.5,
which refuses `autocast("mps")`, even one that is off.

## Since torch

Any release that has the call.
"""

from collections.abc import Iterator

from devfix_codemods.findings import Finding
from devfix_codemods.precision.conditions import reads_for_numpy
from devfix_codemods.precision.older import oldest
from devfix_codemods.precision.typed import Types
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule

_AUTOCAST_OF_MPS = (2, 5)
_READ = (
    "take `{code}`, and read results by `.float().numpy()`: on the host autocast gives bfloat16, which numpy has not"
)
_MPS = "take `{code}` where torch is 2.5 or later: older ones, for which this code is too, refuse it for MPS"


def _check(program: Program) -> Iterator[Finding]:
    def stays(code: str, host_is_left_out: bool) -> str | None:
        """Why a literal "cuda" stays: numpy reads what would be bfloat16, or torch refuses `autocast("mps")`."""
        if not host_is_left_out and reads_for_numpy(one.tree for one in (program, *program.importing)):
            return _READ.format(code=code)
        older = oldest(program.unit, program.project)
        return _MPS.format(code=code) if older is not None and older.may_lack(_AUTOCAST_OF_MPS) else None

    for one in Types(program.index, stays).told():
        span = program.source.span(one.node)
        yield Finding(RULE.code, RULE.name, one.message, span, fix=one.fix, advice=one.advice)


RULE = Rule(
    code="DVF303",
    name="autocast-device-string",
    triggers=((b"autocast",), (b"Autocast", b"device_type"), (b"GradScaler",), (b"custom_fwd",), (b"custom_bwd",)),
    check=_check,
)
