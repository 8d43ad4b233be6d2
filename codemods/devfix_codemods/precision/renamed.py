"""The moves of the deprecated names of mixed precision, in groups that are rewritten together."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from devfix_codemods.edits.operations import (
    AddImport,
    Argument,
    Edit,
    MoveImportedName,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)
from devfix_codemods.edits.quotes import quoted
from devfix_codemods.precision import api
from devfix_codemods.precision.older import Older, Release, oldest
from devfix_codemods.precision.own import lacks
from devfix_codemods.precision.uses import Shape, Use, Uses
from devfix_codemods.precision.versions import chosen_by_version, exported
from devfix_codemods.project.files import Project
from devfix_codemods.project.names import Import
from devfix_codemods.project.units import Unit

SINCE = {"autocast": (1, 12), "GradScaler": (2, 3), "custom_fwd": (2, 4), "custom_bwd": (2, 4)}
_AUTOCAST_ORDER = ("enabled", "dtype", "cache_enabled")
_MODULES = frozenset({"torch.cuda.amp", "torch.cpu.amp"})

Group = tuple[list[Use], list[Edit]]


class Grouping:
    """The deprecated uses of one file, in groups that are rewritten together."""

    def __init__(self, unit: Unit, project: Project | None, target: Release | None) -> None:
        self._unit = unit
        self._project = project
        self._target = target
        self._names = unit.names
        self._source = unit.source

    def groups(self) -> list[Group]:
        """Each group with its edits; the groups of `GradScaler` are one where `isinstance` asks for the class."""
        found = list(self._separate())
        scalers = [group for group in found if any(one.old.symbol == "GradScaler" for one in group[0])]
        if not any(one.is_tested_class for uses, _ in scalers for one in uses):
            return found
        if self._may_lack("GradScaler") and not any(map(_makes_scaler, scalers)):
            return [([_as_it_is(one) for one in uses], edits) for uses, edits in found]
        merged = ([one for uses, _ in scalers for one in uses], [one for _, edits in scalers for one in edits])
        return [merged, *(group for group in found if group not in scalers)]

    def _separate(self) -> Iterator[Group]:
        grouped: defaultdict[tuple[str, frozenset[Import | None]], list[Use]] = defaultdict(list)
        for use in Uses(self._unit):
            name = api.root(use.node)
            if name is not None:
                grouped[(name.id, use.statements)].append(self._unless_newer(use))
        for (name_id, statements), uses in grouped.items():
            if any(isinstance(one.node, ast.Name) for one in uses):
                yield self._imported(name_id, statements, uses)
            else:
                yield from self._dotted(name_id, statements, uses)

    def _may_lack(self, symbol: str) -> bool:
        return self._target is None or self._target < SINCE[symbol]

    @cached_property
    def _oldest(self) -> Older | None:
        return oldest(self._unit, self._project)

    def _unless_newer(self, use: Use) -> Use:
        """`use`, kept as it is where the code provides for a torch without the new name, or is part of one."""
        if lacks(self._unit, self._project, use.old.symbol):
            return replace(use, silent=True)
        if not self._may_lack(use.old.symbol) or self._oldest is None:
            return use
        if not self._oldest.may_lack(SINCE[use.old.symbol]):
            return use
        if use.shape is Shape.TYPE:
            return replace(use, silent=True)  # it names the class and never warns
        file = f"`{self._oldest.name}`" if self._oldest.name is not None else "the file"
        release = "{}.{}".format(*self._oldest.release)
        asks = "asks for" if self._oldest.least else "chooses by"
        reason = f"{file} {asks} torch {release}, and the code may run on one that does not have the new name"
        return replace(use, obstacle=use.obstacle or reason)

    def _imported(self, name: str, statements: frozenset[Import | None], uses: list[Use]) -> Group:
        """`from torch.cuda.amp import autocast`: the import and all uses of the name."""
        imports = [one for one in statements if isinstance(one, ast.ImportFrom)]
        if any(chosen_by_version(self._names, one) for one in imports):
            return [replace(one, silent=True) for one in uses], []
        if any(exported(self._unit, name, one) for one in imports):
            reason = f"`{name}` may be imported from this module"
            uses = [replace(one, obstacle=one.obstacle or reason) for one in uses]
        edits = [edit for one in uses for edit in self._use_edits(one, ast.unparse(one.node))]
        moves = [MoveImportedName(self._source.span(one), uses[0].old.symbol, "torch.amp") for one in imports]
        return uses, [*edits, *moves]

    def _dotted(self, name: str, statements: frozenset[Import | None], uses: list[Use]) -> Iterator[Group]:
        """`torch.cuda.amp.autocast`, or `amp.autocast` with the module imported as `amp`."""
        statement = next(iter(statements))
        move = self._module_move(name, statement) if statement is not None and len(statements) == 1 else None
        if move is not None and statement is not None and self._all_rewritable(name, statement, uses):
            edits = [edit for one in uses for edit in self._use_edits(one, f"{name}.{one.old.symbol}")]
            yield uses, [*edits, move]
            return
        for one in uses:
            prefix, imports = self._torch_name(one.node)
            yield [one], [*self._use_edits(one, f"{prefix}.amp.{one.old.symbol}"), *imports]

    def _module_move(self, name: str, statement: Import) -> Edit | None:
        """The edit that makes `name` mean `torch.amp`, where `statement` made it mean `torch.cuda.amp`."""
        if chosen_by_version(self._names, statement):
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
        if any(one.obstacle or one.silent for one in uses) or exported(self._unit, name, statement):
            return False
        known = {api.root(one.node) for one in uses}
        named = (one for one in ast.walk(self._source.tree) if isinstance(one, ast.Name) and one.id == name)
        return not any(statement in self._binding(one) for one in named if one not in known)

    def _binding(self, node: ast.Name) -> set[Import | None]:
        return {one.statement for one in self._names.candidates(node)}

    def _torch_name(self, node: ast.Name | ast.Attribute) -> tuple[str, list[Edit]]:
        """What torch is called at `node`, and the import that this needs."""
        name = api.root(node)
        if name is not None and self._names.qualified(name) == "torch":
            return name.id, []
        return "torch", [AddImport("torch")]

    def _use_edits(self, use: Use, function: str) -> Iterator[Edit]:
        """The edits at one use; `function` is the name's new spelling."""
        device = quoted(self._source, use.old.device)
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
        named = [one for one in ast.walk(self._source.tree) if isinstance(one, ast.Name) and one.id == "partial"]
        is_known = bool(named) and all(self._names.qualified(one) == "functools.partial" for one in named)
        is_imported = any(one.id == "functools" for one in ast.walk(self._source.tree) if isinstance(one, ast.Name))
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
            first, *rest = api.kept(call)
            yield RewriteCall(self._source.span(call), None, (first, Argument(device), *rest))

    def _call_edit(self, use: Use, function: str) -> Edit:
        call = api.called(self._names, use.node)
        assert call is not None
        renamed = function if function != ast.unparse(use.node) else None
        return RewriteCall(self._source.span(call), renamed, self._arguments(use.old, call))

    def _arguments(self, old: api.Old, call: ast.Call) -> tuple[Argument, ...]:
        device = quoted(self._source, old.device)
        if old.symbol.startswith("custom_"):
            kept = api.kept(call)
            return (*kept[: len(call.args)], Argument(device, "device_type"), *kept[len(call.args) :])
        if _has_device(old, call):
            return tuple(api.kept(call))
        names = _AUTOCAST_ORDER if old.symbol == "autocast" else ()
        return (Argument(device), *api.kept(call, names))


def _makes_scaler(group: Group) -> bool:
    return any(one.shape is not Shape.TYPE for one in group[0])


def _as_it_is(use: Use) -> Use:
    """`use`, unless it is a test of the class of what others make: it never warns, and an older torch has no other."""
    if not use.is_tested_class:
        return use
    return replace(
        use, obstacle=use.obstacle or "an `isinstance` test does not warn, and torch 2.3 brought the new class"
    )


def _has_device(old: api.Old, call: ast.Call) -> bool:
    """Whether the call already has the device type, which the old signature refuses and the new one wants."""
    first = call.args[0] if call.args else None
    if first is not None and api.is_device_type(first):
        return True
    if first is not None and old.symbol == "autocast" and api.keyword(call, "enabled"):
        return True  # given twice, by the old signature
    return api.keyword(call, "device_type" if old.symbol == "autocast" else "device") is not None
