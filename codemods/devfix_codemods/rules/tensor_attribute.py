"""A module keeps a tensor in a plain attribute, which `.to` does not carry.

## What it does

Finds tensors that a class keeps in plain attributes of `self` and that meet, in another method, values that live
elsewhere: wherever the module was moved, or on the device that the class chose. They are registered as buffers that
no checkpoint holds; what cannot be one is moved where it is used, or made on the class's own device. Tensors that a
module keeps beside buffers that are made alike, or whose device it takes for its own, are found whatever they meet. So
are attributes that another method means to register as buffers.

## Why it fails

`module.to(device)` moves parameters, buffers and submodules. A tensor in a plain attribute, in a list or in a
dictionary is none of them and stays where it was made:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

    KeyError: "attribute 'mean' already exists"

## Before

    class Positions(nn.Module):
        def __init__(self, length, width):
            super().__init__()
            self.index = torch.arange(64)
            self.embed = nn.Embedding(length, width)

        def forward(self, x):
            return x + self.embed(self.index)

## After

    class Positions(nn.Module):
        def __init__(self, length, width):
            super().__init__()
            self.register_buffer("index", torch.arange(64), persistent=False)
            self.embed = nn.Embedding(length, width)

        def forward(self, x):
            return x + self.embed(self.index)

## Fix safety

Safe for buffers of whole numbers, and where a value that cannot be one is moved at its use: nothing else changes for a
program that works today, and `persistent=False` keeps the keys of checkpoints as they are. Unsafe for buffers of
floating-point numbers, because `.half()` converts them from then on.

## Since torch

Any; 1.6 for `persistent=False`.
"""

import ast
from collections.abc import Iterator

from devfix_codemods.catalogue import Kind
from devfix_codemods.edits.operations import ReplaceExpression, ReplaceStatement
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.arguments import argument, is_none
from devfix_codemods.placement.caches import Cache, caches
from devfix_codemods.placement.graph import MADE
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.repairs.attributes import is_set_up, is_surely_module
from devfix_codemods.repairs.points import before, means_same
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    yield from (_cached(program, one) for one in caches(program.placement))
    yield from _late_buffers(program)


def _cached(program: Program, cache: Cache) -> Finding:
    span, there = program.source.span(cache.assignment), f"{cache.tensor}.device"
    itself = f"{cache.itself}.{cache.name}"
    edit = ReplaceExpression(program.source.span(cache.test), f"__node__ or {itself}.device != {there}")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{itself}` stays on the device of the first `{cache.tensor}`, wherever later ones are",
        span=span,
        trail=(Step(span, "it is made here, once"),),
        fix=Fix(Safety.SAFE, f"Make `{itself}` again where `{cache.tensor}` is elsewhere", (edit,)),
    )


def _late_buffers(program: Program) -> Iterator[Finding]:
    """Attributes that the constructor sets, and that another method means to register as buffers: that fails."""
    analysis = program.placement
    for owner in analysis.module.classes:
        made = owner.methods.get("__init__")
        later = _registrations(owner)
        if made is None or not later or not is_surely_module(analysis, owner) or _drops_attributes(owner):
            continue
        for store in made.stores:
            tensor = analysis.kinds.of(store.value) is Kind.TENSOR or _may_be_tensor(analysis, store.value)
            nothing = is_none(store.value)
            of_itself = store.is_attribute and store.base is made.self_node and not store.guard
            if of_itself and store.key in later and (tensor or nothing) and is_set_up(made, store):
                yield from _registered_late(program, store, later[str(store.key)])


def _saved(program: Program, store: Store, registration: Node) -> str | None:
    """What is said there of whether checkpoints hold the buffer, as it is said here; None where that is not known."""
    saved, point = argument(registration, 2, "persistent"), before(store.value)
    if saved is None:
        return None if {"*", "**"}.intersection(registration.extras) else ""
    syntax = saved.syntax
    if not isinstance(syntax, ast.expr) or point is None:
        return None
    same = means_same(program.placement, syntax, registration, point)
    return f", persistent={ast.unparse(syntax)}" if same else None


def _may_be_tensor(analysis: Analysis, value: Node) -> bool:
    """Whether a value is what a caller gives, and neither its default nor its annotation says that it is no tensor."""
    default = value.function.defaults.get(str(value.extra)) if value.op is Op.PARAM else None
    if default is not None and not is_none(default) and analysis.kinds.of(default) is not Kind.TENSOR:
        return False
    annotation = getattr(value.syntax, "annotation", None)
    return value.op is Op.PARAM and (annotation is None or "Tensor" in ast.unparse(annotation))


def _registrations(owner: Class) -> dict[str, Node]:
    """What methods other than the constructor register, and the constructor does not."""
    found: dict[str, Node] = {}
    early: set[str] = set()
    for function in owner.methods.values():
        for node in function.nodes:
            callee = node.args[0] if node.op is Op.CALL else None
            if callee is None or callee.extra != "register_buffer" or callee.args[:1] != (function.self_node,):
                continue
            given = argument(node, 0, "name")
            name = str(given.extra) if given is not None and given.op is Op.CONST else ""
            if function.name == "__init__":
                early.add(name)
            else:
                found.setdefault(name, node)
    return {name: node for name, node in found.items() if name not in early and name not in owner.methods}


def _drops_attributes(owner: Class) -> bool:
    """Whether the class deletes attributes, or asks for them by name."""
    return any(
        isinstance(one, ast.Delete)
        or (isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in _DROPS)
        for one in ast.walk(owner.syntax)
    )


def _registered_late(program: Program, store: Store, registration: Node) -> Iterator[Finding]:
    call = registration.syntax
    match store.statement:
        case ast.Assign(targets=[target], value=value) as statement if isinstance(call, ast.Call):
            span, there = program.source.span(statement), program.source.span(call)
            saved = _saved(program, store, registration)
            text = program.source.segment(program.source.span(value))
            itself = ast.unparse(target).partition(".")[0]
            code = f'{itself}.register_buffer("{store.key}", {text}{saved})'
            title = f"Register `{store.key}` as a buffer from the start"
            fix = Fix(Safety.UNSAFE, title, (ReplaceStatement(span, code),)) if saved is not None else None
            yield Finding(
                code=RULE.code,
                name=RULE.name,
                message=f"`self.{store.key}` is a plain attribute: no buffer can be registered under its name later",
                span=span,
                trail=(Step(span, "it is set here"), Step(there, "and meant to be a buffer here")),
                fix=fix,
                advice=None if fix is not None else f"{title}.",
            )


_DROPS = frozenset({"delattr", "hasattr", "setattr"})


def _owns(conflict: Conflict) -> bool:
    made = conflict.birth.birth in MADE and conflict.is_of_attribute
    return made and not conflict.is_of_weight and not conflict.is_of_table


_TRIGGERS = (
    (b"register_buffer", b"self.", b"Module"),
    *(
        (b"Module", asked, beside)
        for asked in (b" is None", b"not hasattr(self")
        for beside in (b".device", b".type_as(")
    ),
)

RULE = Rule("DVF203", "tensor-attribute", _TRIGGERS, check, owns=_owns)
