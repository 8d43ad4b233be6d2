"""A device that is only a number.

## What it does

Finds `x.to(0)`, and names the device.

## Why it fails

A number is an index of whatever accelerator torch takes for the current one. On a machine without any:

    RuntimeError: Cannot access accelerator device when none is available.

## Before

    x = x.to(0)

## After

    x = x.to("cuda:0")

## Fix safety

Unsafe: the program runs on CUDA only from then on.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    for call in program.names.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "to" and call.args:
            device = call.args[0]
            if isinstance(device, ast.Constant) and type(device.value) is int:
                yield _finding(program, call, device.value)


def _finding(program: Program, call: ast.Call, number: int) -> Finding:
    name = f'"cuda:{number}"'
    edit = ReplaceExpression(program.source.span(call.args[0]), name)
    return Finding(
        RULE.code,
        RULE.name,
        f"the device is only a number, {number}",
        program.source.span(call),
        fix=Fix(Safety.UNSAFE, f"Name the device: {name}", (edit,)),
    )


RULE = Rule("ACME101", "device-by-number", triggers=((b".to(",),), check=check)
