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
context around it means, so inside of an autocast with another dtype in the same function the fix is unsafe. It is
unsafe too where `isinstance` asks for a `torch.cuda.amp.GradScaler`, a subclass of `torch.amp.GradScaler`, that is
made elsewhere: the test then accepts more; and for a `partial(autocast, ...)` that code elsewhere may call with
positional arguments.

## Since torch

`torch.amp.autocast` 1.12, `torch.amp.GradScaler` 2.3, `torch.amp.custom_fwd` and `custom_bwd` 2.4.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from operator import attrgetter

from devfix_codemods.assumptions.purpose import is_for_machine
from devfix_codemods.edits.operations import (
    AddImport,
    Argument,
    Edit,
    MoveImportedName,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.names import Import
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, _amp
from devfix_codemods.rules._amp_compared import compares_libraries, tests_old_names
from devfix_codemods.rules._amp_uses import Shape, Use, Uses
from devfix_codemods.rules._older_torch import Older, oldest
from devfix_codemods.rules._own_torch import lacks

_SINCE = {"autocast": (1, 12), "GradScaler": (2, 3), "custom_fwd": (2, 4), "custom_bwd": (2, 4)}
_AUTOCAST_ORDER = ("enabled", "dtype", "cache_enabled")
_MODULES = frozenset({"torch.cuda.amp", "torch.cpu.amp"})

_Group = tuple[list[Use], list[Edit]]


def _check(program: Program) -> Iterable[Finding]:
    if is_for_machine(program.source) and (compares_libraries(program) or tests_old_names(program)):
        return []
    groups = _Grouping(program).groups()
    return sorted((one for group in groups for one in _findings(program, *group)), key=attrgetter("span"))


def _findings(program: Program, uses: list[Use], edits: list[Edit]) -> Iterator[Finding]:
    obstacle = next((one.obstacle for one in uses if one.obstacle), None)
    if obstacle is None and any(_is_put_off(program, one) for one in uses):
        obstacle = "a comment above it says that it is too early"
    loud = [one for one in uses if not one.silent]
    fix = None if obstacle or len(loud) < len(uses) else _fix(uses, edits)
    for one in loud:
        yield Finding(
            RULE.code,
            RULE.name,
            _message(one.api),
            program.source.span(_amp.called(program.names, one.node) or one.node),
            fix=fix,
            advice=None if fix else _advice(one.api, obstacle),
        )


def _is_put_off(program: Program, use: Use) -> bool:
    """Whether the comment right above names what takes its place, and says what has to come first."""
    lines = program.source.text.splitlines()
    above = program.names.statement(use.node).lineno - 1
    first = above
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    comment = " ".join(one.strip(" \t#") for one in lines[first:above])
    return f"torch.amp.{use.api.symbol}" in comment and _TOO_EARLY.search(comment) is not None


_TOO_EARLY = re.compile(
    r"(?i)unavailable|not (?:yet )?(?:available|supported)|until|when we|once we|(?:drop|stop) support|<=? ?\d"
)


def _message(api: _amp.Old) -> str:
    old = f"torch.{api.device}.amp.{api.symbol}"
    return f"`{old}` is deprecated and warns since torch 2.4; `torch.amp.{api.symbol}` takes the device type"


def _advice(api: _amp.Old, obstacle: str | None) -> str:
    reason = obstacle or "another use of this name depends on torch's version, or on which class it is"
    return f"not rewritten: {reason}; use `torch.amp.{api.symbol}` with the device type `{api.device}` throughout"


def _fix(uses: list[Use], edits: list[Edit]) -> Fix:
    symbols = sorted({one.api.symbol for one in uses})
    makes = any(one.shape is Shape.CALL and one.api.symbol == "GradScaler" for one in uses)
    risks = [one.risk for one in uses if one.risk and not (makes and one.is_tested_class)]
    title = "use " + " and ".join(f"`torch.amp.{one}`" for one in symbols)
    return Fix(
        Safety.UNSAFE if risks else Safety.SAFE,
        f"{title} ({risks[0]})" if risks else title,
        tuple(dict.fromkeys(edits)),
        max(_SINCE[one] for one in symbols),
    )


class _Grouping:
    """The deprecated uses of one file, in groups that are rewritten together."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._names = program.names
        self._source = program.source

    def groups(self) -> list[_Group]:
        """Each group with its edits; the groups of `GradScaler` are one where `isinstance` asks for the class."""
        found = list(self._separate())
        scalers = [group for group in found if any(one.api.symbol == "GradScaler" for one in group[0])]
        if not any(one.is_tested_class for uses, _ in scalers for one in uses):
            return found
        if self._may_lack("GradScaler") and not any(map(_makes_scaler, scalers)):
            return [([_as_it_is(one) for one in uses], edits) for uses, edits in found]
        merged = ([one for uses, _ in scalers for one in uses], [one for _, edits in scalers for one in edits])
        return [merged, *(group for group in found if group not in scalers)]

    def _separate(self) -> Iterator[_Group]:
        grouped: defaultdict[tuple[str, frozenset[Import | None]], list[Use]] = defaultdict(list)
        for use in Uses(self._program):
            name = _amp.root(use.node)
            if name is not None:
                grouped[(name.id, use.statements)].append(self._unless_newer(use))
        for (name_id, statements), uses in grouped.items():
            if any(isinstance(one.node, ast.Name) for one in uses):
                yield self._imported(name_id, statements, uses)
            else:
                yield from self._dotted(name_id, statements, uses)

    def _may_lack(self, symbol: str) -> bool:
        target = self._program.target
        return target is None or target < _SINCE[symbol]

    @cached_property
    def _oldest(self) -> Older | None:
        return oldest(self._program)

    def _unless_newer(self, use: Use) -> Use:
        """`use`, kept as it is where the code provides for a torch without the new name, or is part of one."""
        if lacks(self._program, use.api.symbol):
            return replace(use, silent=True)
        if not self._may_lack(use.api.symbol) or self._oldest is None:
            return use
        if not self._oldest.may_lack(_SINCE[use.api.symbol]):
            return use
        if use.shape is Shape.TYPE:
            return replace(use, silent=True)  # it names the class and never warns
        file = f"`{self._oldest.name}`" if self._oldest.name is not None else "the file"
        release = "{}.{}".format(*self._oldest.release)
        asks = "asks for" if self._oldest.least else "chooses by"
        reason = f"{file} {asks} torch {release}, and the code may run on one that does not have the new name"
        return replace(use, obstacle=use.obstacle or reason)

    def _imported(self, name: str, statements: frozenset[Import | None], uses: list[Use]) -> _Group:
        """`from torch.cuda.amp import autocast`: the import and all uses of the name."""
        imports = [one for one in statements if isinstance(one, ast.ImportFrom)]
        if any(_amp.chosen_by_version(self._names, one) for one in imports):
            return [replace(one, silent=True) for one in uses], []
        if any(_amp.exported(self._program, name, one) for one in imports):
            reason = f"`{name}` may be imported from this module"
            uses = [replace(one, obstacle=one.obstacle or reason) for one in uses]
        edits = [edit for one in uses for edit in self._use_edits(one, ast.unparse(one.node))]
        moves = [MoveImportedName(self._source.span(one), uses[0].api.symbol, "torch.amp") for one in imports]
        return uses, [*edits, *moves]

    def _dotted(self, name: str, statements: frozenset[Import | None], uses: list[Use]) -> Iterator[_Group]:
        """`torch.cuda.amp.autocast`, or `amp.autocast` with the module imported as `amp`."""
        statement = next(iter(statements))
        move = self._module_move(name, statement) if statement is not None and len(statements) == 1 else None
        if move is not None and statement is not None and self._all_rewritable(name, statement, uses):
            edits = [edit for one in uses for edit in self._use_edits(one, f"{name}.{one.api.symbol}")]
            yield uses, [*edits, move]
            return
        for one in uses:
            prefix, imports = self._torch_name(one.node)
            yield [one], [*self._use_edits(one, f"{prefix}.amp.{one.api.symbol}"), *imports]

    def _module_move(self, name: str, statement: Import) -> Edit | None:
        """The edit that makes `name` mean `torch.amp`, where `statement` made it mean `torch.cuda.amp`."""
        if _amp.chosen_by_version(self._names, statement):
            return None
        span = self._source.span(statement)
        if isinstance(statement, ast.ImportFrom):
            origins = [one.name for one in statement.names if (one.asname or one.name) == name]
            return MoveImportedName(span, "amp", "torch") if f"{statement.module}.{origins[0]}" in _MODULES else None
        alias = statement.names[0]
        if len(statement.names) == 1 and alias.asname == name and alias.name in _MODULES:
            return ReplaceStatement(span, f"import torch.amp as {name}")
        return None

    def _all_rewritable(self, name: str, statement: Import, uses: list[Use]) -> bool:
        """Whether `uses` are all that is done with `name`, and each can be rewritten."""
        if any(one.obstacle or one.silent for one in uses) or _amp.exported(self._program, name, statement):
            return False
        known = {_amp.root(one.node) for one in uses}
        named = (one for one in ast.walk(self._program.tree) if isinstance(one, ast.Name) and one.id == name)
        return not any(statement in self._binding(one) for one in named if one not in known)

    def _binding(self, node: ast.Name) -> set[Import | None]:
        return {one.statement for one in self._names.candidates(node)}

    def _torch_name(self, node: ast.Name | ast.Attribute) -> tuple[str, list[Edit]]:
        """What torch is called at `node`, and the import that this needs."""
        name = _amp.root(node)
        if name is not None and self._names.qualified(name) == "torch":
            return name.id, []
        return "torch", [AddImport("torch")]

    def _use_edits(self, use: Use, function: str) -> Iterator[Edit]:
        """The edits at one use; `function` is the name's new spelling."""
        device = _amp.quoted(self._source, use.api.device)
        match use.shape:
            case _ if use.obstacle:
                return
            case Shape.CALL:
                yield self._call_edit(use, function)
            case Shape.DECORATOR:
                yield ReplaceExpression(self._source.span(use.node), f"{function}(device_type={device})")
            case Shape.VALUE:
                partial, binding = self._partial
                yield ReplaceExpression(self._source.span(use.node), f"{partial}({function}, {device})")
                yield binding
            case Shape.PARTIAL:
                yield from self._partial_edits(use, function, device)
            case Shape.TYPE:
                yield from self._renaming(use, function)

    @cached_property
    def _partial(self) -> tuple[str, AddImport]:
        """A spelling of `functools.partial` that means nothing else in this file, and its import."""
        named = [one for one in ast.walk(self._program.tree) if isinstance(one, ast.Name) and one.id == "partial"]
        is_known = bool(named) and all(self._names.qualified(one) == "functools.partial" for one in named)
        is_imported = any(one.id == "functools" for one in ast.walk(self._program.tree) if isinstance(one, ast.Name))
        if is_known or ("partial" not in self._source.text and not is_imported):
            return "partial", AddImport("functools", "partial")
        return "functools.partial", AddImport("functools")

    def _renaming(self, use: Use, function: str) -> Iterator[Edit]:
        if function != ast.unparse(use.node):
            yield ReplaceExpression(self._source.span(use.node), function)

    def _partial_edits(self, use: Use, function: str, device: str) -> Iterator[Edit]:
        yield from self._renaming(use, function)
        call = self._names.parent(use.node)
        if isinstance(call, ast.Call):
            first, *rest = _amp.kept(call)
            yield RewriteCall(self._source.span(call), None, (first, Argument(device), *rest))

    def _call_edit(self, use: Use, function: str) -> Edit:
        call = _amp.called(self._names, use.node)
        assert call is not None
        renamed = function if function != ast.unparse(use.node) else None
        return RewriteCall(self._source.span(call), renamed, self._arguments(use.api, call))

    def _arguments(self, api: _amp.Old, call: ast.Call) -> tuple[Argument, ...]:
        device = _amp.quoted(self._source, api.device)
        if api.symbol.startswith("custom_"):
            kept = _amp.kept(call)
            return (*kept[: len(call.args)], Argument(device, "device_type"), *kept[len(call.args) :])
        if _has_device(api, call):
            return tuple(_amp.kept(call))
        names = _AUTOCAST_ORDER if api.symbol == "autocast" else ()
        return (Argument(device), *_amp.kept(call, names))


def _makes_scaler(group: _Group) -> bool:
    return any(one.shape is not Shape.TYPE for one in group[0])


def _as_it_is(use: Use) -> Use:
    """`use`, unless it is a test of the class of what others make: it never warns, and an older torch has no other."""
    if not use.is_tested_class:
        return use
    return replace(
        use, obstacle=use.obstacle or "an `isinstance` test does not warn, and torch 2.3 brought the new class"
    )


def _has_device(api: _amp.Old, call: ast.Call) -> bool:
    """Whether the call already has the device type, which the old signature refuses and the new one wants."""
    first = call.args[0] if call.args else None
    if first is not None and (_amp.literal(first) is not None or _is_type(first)):
        return True
    if first is not None and api.symbol == "autocast" and _amp.keyword(call, "enabled"):
        return True  # given twice, by the old signature
    return _amp.keyword(call, "device_type" if api.symbol == "autocast" else "device") is not None


def _is_type(node: ast.expr) -> bool:
    """`x.device.type`, `device_type`."""
    return (dotted(node) or "").endswith(("device.type", "device_type"))


RULE = Rule(
    code="DVF302",
    name="deprecated-amp",
    triggers=((b"cuda.amp",), (b"cpu.amp",), (b"cuda import", b"amp"), (b"cpu import", b"amp")),
    check=_check,
)
