"""The result of moving a tensor is thrown away.

## What it does

Finds `x.to(device)` and `x.cuda()` as statements of their own where `x` is a tensor, and assigns the result. So it does
for `x.type_as(y)`, which only tensors have.

## Why it fails

`Tensor.to` returns a copy; only modules are moved in place. The tensor stays on the host, "although I did call
`.to(device)`":

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

## Before

    mask.to(device)

## After

    mask = mask.to(device)

## Fix safety

Safe for moves to a device, and to the host where the tensor is also turned into a numpy array, which needs the host.
Unsafe for all other moves to the host, and for moves to a device of what becomes an array; for `type_as`, where only
another function says that the parameter is a tensor; for the entries of a mapping that a model is given; and beside
another discarded move of something that may be no tensor. A tensor that requires grad gets advice only: its moved copy
is no leaf. So do the parameters and buffers that a loop goes over: another name for the loop variable moves none of
them; the weight or the bias of another layer that a module keeps, which takes no plain tensor in its place; `x[0]` and
`x.T` of a tensor or a tuple, which take nothing from elsewhere; and a name of the module, which an assignment in a
function would hide; what Lightning has placed already; and what goes to a module that the function builds and leaves on
the host.
Modules, encodings, whole batches, and values whose kind is not certain are left alone: their `.to` may work in place.
Parts of batches count as tensors where, unmoved, they would meet what is elsewhere. Left alone are also moves of what
is on that device already, and moves that are the point themselves: in the body of a `try`, or of a value that is never
read again, as a loop variable is not once its loop goes on.

## Since torch

Any.
"""

from collections.abc import Iterator

from devfix_codemods.discards.discarded import may_discard
from devfix_codemods.discards.remedy import thrown_away
from devfix_codemods.findings import Finding
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """Moves of tensors, each a statement of its own, where the tensor is used on."""
    for one in thrown_away(program.index, program.placement_without):
        yield one.finding(RULE.code, RULE.name, program.source)


RULE = Rule(
    "DVF103", "discarded-move", ((b".to(",), (b".cuda(",), (b".cpu(",), (b".type_as(",)), check, looks=may_discard
)
