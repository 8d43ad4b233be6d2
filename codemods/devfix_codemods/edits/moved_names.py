"""Names that move from one module to another: what becomes of the statements that lose or gain them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst
from devfix_codemods.edits import fragments
from devfix_codemods.edits.document import Document
from devfix_codemods.edits.errors import AnchorMissing
from devfix_codemods.edits.listing import Listing
from devfix_codemods.edits.operations import MoveImportedName
from libcst.helpers import get_full_name_for_node

_NOTHING = cst.SimpleWhitespace("")
Names = Sequence[cst.ImportAlias]


@dataclass
class Moves:
    """The outcome of moving names: statements that change, and new ones after others."""

    swapped: dict[cst.ImportFrom, cst.ImportFrom] = field(default_factory=dict)
    added: list[tuple[cst.ImportFrom, str]] = field(default_factory=list)


def move_names(document: Document, edits: Iterable[MoveImportedName], removed: set[cst.CSTNode]) -> Moves:
    """Decide what `edits` make of the import statements of `document`; those in `removed` go away.

    Raises:
        AnchorMissing: no such name is imported there.
    """
    wanted: dict[cst.ImportFrom, dict[str, str]] = defaultdict(dict)
    for edit in edits:
        wanted[_importing(document, edit)][edit.name] = edit.module
    moves = Moves()
    gained: dict[cst.ImportFrom, list[cst.ImportAlias]] = defaultdict(list)
    closed = removed | set(wanted)
    for statement, targets in wanted.items():
        for module, names in _leave(statement, targets, moves).items():
            home = _home(document, statement, module, closed)
            if home is None:
                moves.added.append((statement, _import_code(module, names)))
            else:
                gained[home] += names
    moves.swapped |= {home: _with_names_added(home, names) for home, names in gained.items()}
    return moves


def _importing(document: Document, edit: MoveImportedName) -> cst.ImportFrom:
    found = document.statement(edit.span)
    if isinstance(found, cst.ImportFrom) and any(alias.name.value == edit.name for alias in _names(found)):
        return found
    raise AnchorMissing(edit)


def _names(statement: cst.ImportFrom) -> Names:
    return () if isinstance(statement.names, cst.ImportStar) else statement.names


def _leave(statement: cst.ImportFrom, targets: dict[str, str], moves: Moves) -> dict[str, Names]:
    """Take the names out of `statement`; the names that still need a home, by module."""
    leaving: dict[str, list[cst.ImportAlias]] = defaultdict(list)
    for alias in _names(statement):
        if alias.name.value in targets:
            leaving[targets[str(alias.name.value)]].append(alias)
    staying = [index for index, alias in enumerate(_names(statement)) if alias.name.value not in targets]
    if staying:
        moves.swapped[statement] = _with_names(statement, staying)
        return dict(leaving)
    # all names go: the statement itself goes with those of the first module
    (module, first), *others = leaving.items()
    kept = [index for index, alias in enumerate(_names(statement)) if alias in first]
    moves.swapped[statement] = _from_module(_with_names(statement, kept), module)
    return dict(others)


def _from_module(statement: cst.ImportFrom, module: str) -> cst.ImportFrom:
    gap = statement.whitespace_after_from
    if statement.relative and gap.empty:
        gap = cst.SimpleWhitespace(" ")
    behind = statement.whitespace_before_import
    if behind.empty:
        behind = cst.SimpleWhitespace(" ")  # `from .import a`
    return statement.with_changes(
        module=fragments.expression(module), relative=(), whitespace_after_from=gap, whitespace_before_import=behind
    )


def _with_names(statement: cst.ImportFrom, order: Sequence[int | cst.ImportAlias]) -> cst.ImportFrom:
    names, (opening, closing) = _names(statement), (statement.lpar, statement.rpar)
    if len(order) == len(names) and all(isinstance(one, int) for one in order):
        return statement
    if opening is None or closing is None:
        return statement.with_changes(names=Listing(names, _NOTHING, _NOTHING).arranged(order).elements)
    listing = Listing(names, opening.whitespace_after, closing.whitespace_before).arranged(order)
    around = {
        "lpar": opening.with_changes(whitespace_after=listing.opening),
        "rpar": closing.with_changes(whitespace_before=listing.closing),
    }
    return statement.with_changes(names=listing.elements, **around)


def _with_names_added(statement: cst.ImportFrom, names: Names) -> cst.ImportFrom:
    present = {_name_code(alias) for alias in _names(statement)}
    new = {_name_code(alias): cst.ImportAlias(alias.name, alias.asname) for alias in names}
    added = (alias for code, alias in new.items() if code not in present)
    return _with_names(statement, [*range(len(_names(statement))), *added])


def _name_code(alias: cst.ImportAlias) -> str:
    name, bound = alias.evaluated_name, alias.evaluated_alias
    return name if bound is None else f"{name} as {bound}"


def _import_code(module: str, names: Names) -> str:
    return f"from {module} import {', '.join(dict.fromkeys(map(_name_code, names)))}"


def _home(
    document: Document, statement: cst.ImportFrom, module: str, closed: set[cst.CSTNode]
) -> cst.ImportFrom | None:
    """A statement of the same block that imports from `module` already, where nothing else is done.

    One below counts only where nothing but imports stands between, so that no use comes before it.
    """
    below = False
    for other in document.siblings(statement):
        if other is statement:
            below = True
        elif isinstance(other, cst.ImportFrom) and _is_from(other, module) and other not in closed:
            return other
        elif below and not isinstance(other, cst.Import | cst.ImportFrom):
            return None
    return None


def _is_from(statement: cst.ImportFrom, module: str) -> bool:
    if statement.relative or isinstance(statement.names, cst.ImportStar):
        return False
    return statement.module is not None and get_full_name_for_node(statement.module) == module
