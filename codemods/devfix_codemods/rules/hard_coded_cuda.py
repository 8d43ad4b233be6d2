"""CUDA is spelled out where a device is at hand.

## What it does

Finds `.cuda()`, `.to("cuda")`, `device="cuda"`, `torch.Generator("cuda")`, `torch.cuda.FloatTensor(…)` and
`.type(torch.cuda.FloatTensor)` that nothing guards, where a tensor, a device or a model is at hand that says where to
go, and lets the value follow it. A script that chooses no device anywhere gets one.

## Why it fails

On a machine without CUDA:

    AssertionError: Torch not compiled with CUDA enabled
    RuntimeError: Found no NVIDIA driver on your system.

With several cards, `.cuda()` is the current one, which need not be the card of the other operand:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!

## Before

    def forward(self, x):
        noise = torch.randn(x.shape[0], 8).cuda()
        return self.decode(torch.cat([x, noise], dim=1))

## After

    def forward(self, x):
        noise = torch.randn(x.shape[0], 8).to(x.device)
        return self.decode(torch.cat([x, noise], dim=1))

## Fix safety

What would a value meet if nothing took it to CUDA? Safe where that is a tensor, in an operation which needs one place:
a program that works today has both on the same card. Unsafe where the device is chosen otherwise: one in scope, a
tensor that it probably goes with, the parameters of a model, a new `device` in a script. Advice only in code that
Lightning places, and where a function takes another value to CUDA all the same. What a function computes on the host of
a tensor that it was given goes back to where that is: `solve(x.cpu()).cuda()` is unsafe, and safe under `if x.is_cuda`.

`x.type(y.type())` follows `y` by the name of a type: `.to(y)` does that on every device, and is safe. These are unsafe:
`x.to(y.device.type)`, which names no card, takes `y.device`; a call that leaves out a `device` whose default is CUDA
gets the device that is in scope, or that of a tensor it is given; `if torch.cuda.is_available(): x = x.cuda()` and
`options={"device": "cuda"}` take a device that was chosen otherwise; a class keeps the `device` of its constructor as
`self.device` for methods that go to CUDA.

Found as well, with unsafe fixes: `str(device) == "cuda"` and `device == torch.device("cuda")`, which fail for `cuda:0`
(advice only where a device may be text); `"cuda" in device`, which raises for a `torch.device`; `x.device == "cuda"`,
`device == "cpu"` of a `torch.device`, or where it guards a move, and `lib.device == "gpu"`, which never hold;
`device = y.device.type` that is only given as a device; a script's `"cuda:1" if … else "cpu"`; and a method
`cuda(device=None)` that makes `device or 0` of the current card. To repair `torch.device("gpu")`, which raises, is
safe.

Left alone: whatever else asks for CUDA before, code for CUDA by its name or its imports (kernels, extensions, NCCL),
scripts that call what refuses the host in their project, tests and benchmarks, defaults of parameters, process-wide
settings, and cards other than the first.

## Since torch

Any.
"""

import re
from collections.abc import Iterator
from functools import partial

from devfix_codemods.assumptions import current_card, ignored_choices
from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.availability_tests import is_guarded
from devfix_codemods.assumptions.cards import constants, later_cards
from devfix_codemods.assumptions.comparisons import Comparisons, may_compare
from devfix_codemods.assumptions.cuda_requirements import hands_to_cuda
from devfix_codemods.assumptions.device_sources import Followings
from devfix_codemods.assumptions.index import Index
from devfix_codemods.assumptions.placing import Placing, worth_asking
from devfix_codemods.assumptions.policy import Policy
from devfix_codemods.assumptions.purpose import is_for_cuda, is_for_machine
from devfix_codemods.assumptions.spelled_cuda import spelled
from devfix_codemods.findings import Finding
from devfix_codemods.ir import Node
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """What follows something at hand, and what is told of devices otherwise."""
    index = program.index
    for one in _told(program, index):
        yield one.finding(RULE.code, RULE.name, program.source)


def _told(program: Program, index: Index) -> Iterator[Answer]:
    comparisons = Comparisons(index) if may_compare(program.source.data) else None
    if comparisons is not None:
        yield from comparisons.guards()
    if is_for_machine(program.source):
        return
    yield from current_card.types_as_devices(index)
    if is_for_cuda(program.source):
        return
    if comparisons is not None:
        yield from comparisons.told()
    yield from current_card.first_cards(index)
    yield from current_card.other_streams(index)
    yield from current_card.types_of_others(index)
    yield from _of_sites(program, index)


def _of_sites(program: Program, index: Index) -> Iterator[Answer]:
    found = worth_asking(index, spelled(index))
    guarded = {one for one in found if is_guarded(index, one.call)}
    unguarded = [one for one in found if one not in guarded]
    moving = frozenset(one.syntax for one in unguarded)
    followings = Followings(partial(program.placement_without, moving), moving)
    policy = Policy(
        index,
        is_imported=lambda: any(True for _ in program.importing),
        demands_cuda=lambda: hands_to_cuda(index),
    )

    def at_hand(node: Node, *, asks: bool = False) -> str | None:
        device = followings.at_hand(node, asks=asks)
        return device.device if device is not None else None

    yield from ignored_choices.omissions(index, at_hand)
    yield from later_cards(index)
    yield from ignored_choices.options(index, at_hand)
    yield from Placing(index, unguarded, followings, policy).told() if unguarded else ()
    yield from ignored_choices.that_ask_a_tensor(index, found)
    yield from Placing.back(index, guarded, followings)
    yield from ignored_choices.that_ask_for_cuda(index, found, partial(at_hand, asks=True))
    yield from constants(index, policy)


def _looks(data: bytes) -> bool:
    return _SPELLS.search(data) is not None or may_compare(data)


_SPELLS = re.compile(rb"\.cuda\(|[\"']cuda|cuda\.\w*Tensor|\.type\(\)\)|cuda\.Stream\(\)|device\.type")

RULE = Rule(
    "DVF501",
    "hard-coded-cuda",
    ((b".cuda(",), (b"cuda",), (b".type(", b".type())"), (b"gpu", b"device"), (b"device.type",), (b".device", b"cpu")),
    check,
    looks=_looks,
    respells=True,
)
