"""A checkpoint is loaded to wherever it was saved from.

## What it does

Finds `torch.load`, `torch.jit.load`, `torch.hub.load_state_dict_from_url` and Lightning's `load_from_checkpoint`
without `map_location`, and calls that leave it out of what wraps these in the project: a function whose parameter
`map_location`, or `device`, is None by default and handed on. What is done with the loaded value, wherever the program
takes it, says where it belongs: the function's own `map_location` where there is one, `"cpu"` where it only feeds
`load_state_dict`, or is read by numpy or a loader, else the device at hand, or what the other loads of the function
say.

## Why it fails

Every tensor goes back to the device that it was saved from. On a machine without that device,

    RuntimeError: Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are
    running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to map your storages to
    the CPU.

and with fewer devices `Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1`.

## Before

    model.load_state_dict(torch.load(path))

## After

    model.load_state_dict(torch.load(path, map_location="cpu"))

## Fix safety

Safe where the place cannot matter: the result is only given to `load_state_dict`, which copies into the parameters
wherever they are, or moved on the spot. Safe, too, where a parameter called `map_location` was never used. Unsafe where
the loaded values are used in other ways: by `map_location` they live elsewhere than today, and so do the tensors of a
whole model that are neither parameters nor buffers, which `.cuda()` leaves where they are. Advice only where a whole
model is loaded, or what is loaded meets another tensor in one operation, and no device is at hand. `weights_only` is
never touched. Left alone: loads on a branch that asks for CUDA, files that the function also loads with a place, what
it has just saved, states of random generators, schedulers and scalers, modules of Lightning that a trainer or the
program moves, what PyTorch publishes (`https://download.pytorch.org`: tensors of the host), and tests.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.purpose import is_test
from devfix_codemods.edits.operations import Argument, RewriteCall
from devfix_codemods.findings import Finding, Fix
from devfix_codemods.loading.calls import Calls, Load
from devfix_codemods.loading.places import Choice, Places
from devfix_codemods.loading.prefilter import loads_to_anywhere
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """Loads that leave the place to the file, where another one would do."""
    if is_test(program.source):
        return
    calls = Calls(program.index)
    loads = calls.loads()
    for load, choice in Places(program.index, calls).chosen(loads) if loads else ():
        yield _finding(program, load, choice)


def _finding(program: Program, load: Load, choice: Choice) -> Finding:
    call = load.call.syntax
    assert isinstance(call, ast.Call)
    span = program.source.span(call)
    fix = None
    if choice.text is not None:
        given = (*map(Argument, range(len(call.args))),)
        named = (Argument(at, one.arg) for at, one in enumerate(call.keywords, len(given)))
        edit = RewriteCall(span, None, (*given, *named, Argument(choice.text, load.keyword)))
        fix = Fix(choice.safety, f"Load to `{choice.text}`: {choice.reason}", (edit,))
    fails = "where that is missing, some versions fail" if load.is_module else "it fails where that device is missing"
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{ast.unparse(call.func)}` without `{load.keyword}` puts the tensors back where they were saved "
        f"from: {fails}",
        span=span,
        fix=fix,
        advice=None if fix else f"pass `{load.keyword}=`: {choice.reason}",
    )


RULE = Rule(
    "DVF401",
    "load-without-map-location",
    ((b"load",),),
    check,
    looks=loads_to_anywhere,
)
