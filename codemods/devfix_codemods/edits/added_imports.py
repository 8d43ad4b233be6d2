"""Where a new import goes, and whether it is needed at all."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst
from devfix_codemods.edits.blocks import Insert
from devfix_codemods.edits.document import Statement
from devfix_codemods.edits.operations import AddImport
from libcst.helpers import get_full_name_for_node

Import = cst.Import | cst.ImportFrom


@dataclass(frozen=True, slots=True)
class Addition:
    """New imports beside a statement, or in a module that has none (`anchor` is the module then)."""

    anchor: Statement | cst.Module
    where: Literal["before", "after"]
    insert: Insert


def add_imports(module: cst.Module, edits: Iterable[AddImport]) -> Iterator[Addition]:
    """The imports of `edits` that `module` lacks, with their places; names from one module share a line."""
    missing = [edit for edit in edits if not any(_binds(one, edit) for one in _unconditional(module.body))]
    for name in dict.fromkeys(edit.module for edit in missing):
        for code in _codes(name, [edit for edit in missing if edit.module == name]):
            yield _placed(module, name, code)


def _codes(module: str, edits: Sequence[AddImport]) -> Iterator[str]:
    if any(edit.name is None for edit in edits):
        yield f"import {module}"
    names = [edit.name for edit in edits if edit.name is not None]
    if names:
        yield f"from {module} import {', '.join(names)}"


def _unconditional(body: Iterable[cst.CSTNode]) -> Iterator[Import]:
    """The imports among `body` that always run."""
    for line in body:
        if isinstance(line, cst.SimpleStatementLine):
            yield from (small for small in line.body if isinstance(small, Import))


def _binds(statement: Import, edit: AddImport) -> bool:
    if isinstance(statement, cst.Import):
        loaded = [alias.evaluated_name for alias in statement.names if alias.asname is None]
        return edit.name is None and any(f"{name}.".startswith(f"{edit.module}.") for name in loaded)
    if isinstance(statement.names, cst.ImportStar) or statement.relative or edit.name is None:
        return False
    bound = any(alias.evaluated_name == edit.name and alias.asname is None for alias in statement.names)
    return bound and _modules(statement) == [edit.module]


def _modules(statement: Import) -> list[str]:
    if isinstance(statement, cst.Import):
        return [alias.evaluated_name for alias in statement.names]
    if statement.module is None or statement.relative:
        return []
    return [get_full_name_for_node(statement.module) or ""]


def _placed(module: cst.Module, name: str, code: str) -> Addition:
    head = _head(module.body)
    package = name.partition(".")[0]
    plain = [line for line in head if any(_unconditional([line]))]
    same = [line for line in plain if package in _packages(line)]
    guarded = [line for line in head if line not in plain and package in _packages(line)]
    for lines in (same, guarded, plain):
        if lines:
            return _below(lines[-1], code)
    if not module.body:
        return Addition(module, "after", Insert(code))
    if _is_docstring(module.body[0]):
        return _below(module.body[0], code)
    return Addition(_anchors(module.body[0])[0], "before", Insert(code, spaced=True))


def _below(line: cst.CSTNode, code: str) -> Addition:
    alone = _is_docstring(line) or "__future__" in _packages(line)
    return Addition(_anchors(line)[-1], "after", Insert(code, spaced=alone))


def _head(body: Iterable[cst.CSTNode]) -> list[cst.CSTNode]:
    """The statements before the first that defines or does something of its own; branches that import belong to it."""
    head: list[cst.CSTNode] = []
    for statement in body:
        simple = isinstance(statement, cst.SimpleStatementLine)
        if not simple and (not isinstance(statement, cst.If | cst.Try | cst.TryStar) or _is_main(statement)):
            break
        if not simple and not _packages(statement):
            break
        head.append(statement)
    return head


def _is_main(statement: cst.CSTNode) -> bool:
    if not isinstance(statement, cst.If) or not isinstance(statement.test, cst.Comparison):
        return False
    return isinstance(statement.test.left, cst.Name) and statement.test.left.value == "__name__"


def _packages(node: cst.CSTNode) -> set[str]:
    """The top-level packages that `node` imports, in branches too."""
    if isinstance(node, Import):
        return {name.partition(".")[0] for name in _modules(node)}
    if isinstance(node, cst.BaseExpression | cst.FunctionDef | cst.ClassDef):
        return set()
    return {package for child in node.children for package in _packages(child)}


def _is_docstring(line: cst.CSTNode) -> bool:
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(line.body[0], cst.Expr):
        return False
    return isinstance(line.body[0].value, cst.SimpleString | cst.ConcatenatedString)


def _anchors(line: cst.CSTNode) -> Sequence[Statement]:
    if isinstance(line, cst.SimpleStatementLine):
        return line.body
    assert isinstance(line, cst.BaseCompoundStatement)  # statements of a module are one or the other
    return (line,)
