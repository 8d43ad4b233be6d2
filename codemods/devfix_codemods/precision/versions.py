"""Code that chooses by the release of torch: by version, by what torch has, by the error that a name is missing."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from devfix_codemods.precision.api import CURRENT, Old, called, device_argument, literal, old, written
from devfix_codemods.project.names import Names
from devfix_codemods.project.units import Unit

_VERSION_TEST = re.compile(
    r"(?<![a-z])version|torchversion|(?:has|get)attr\((?:torch|th|amp|cuda)\b|torch_?\w*\d|\d\w*torch|torch_(?:ge|lt|gte|le)"
    r"|\w\('(?:[<>=!]+ *)?\d+\.\d|find_(?:spec|loader)\('torch\b|\b(?:dir|vars)\((?:torch|th)\b",
    re.IGNORECASE,
)
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})
CATCHES_MISSING = _MISSING | {"Exception", "BaseException"}
"""What catches that a name is missing, and maybe more."""


def exported(unit: Unit, name: str, statement: ast.stmt) -> bool:
    """Whether the module-level name that `statement` binds is offered to other modules."""
    if any(isinstance(one, _SCOPES) for one in unit.names.ancestors(statement)):
        return False
    is_package = unit.path.replace("\\", "/").endswith("__init__.py")
    return is_package or name in _declared_exports(unit.source.tree)


def _declared_exports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets):
                found.update(_literals(statement.value))
    return found


def _literals(node: ast.expr) -> set[str]:
    texts = (literal(one) for one in ast.walk(node) if isinstance(one, ast.expr))
    return {one for one in texts if one is not None}


def chosen_by_version(names: Names, node: ast.AST) -> bool:
    """Whether `node` stands where code asks which torch there is: by version, by `hasattr`, by catching an error.

    Where the other arm does the same with the new name, no more than that can be asked, in whichever words.
    """
    inner = node
    for outer in names.ancestors(node):
        if any(tests_version(test) or _has_heir(names, arm, node) for test, arm in _other_arms(outer, inner)):
            return True
        if isinstance(outer, ast.Try) and _catches_missing(outer, inner):
            return True
        if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Name) and outer.func.id == "getattr":
            return True
        inner = outer
    return False


def _other_arms(outer: ast.AST, inner: ast.AST) -> Iterator[tuple[ast.expr, Sequence[ast.AST]]]:
    """What is asked before `inner`, a part of `outer`, is run, with the code that runs where the answer is another.

    `inner` may be what remains after `if <version>: return ...`.
    """
    match outer:
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield test, [orelse if inner is body else body]
        case ast.If(test=test, body=body, orelse=orelse):
            yield test, orelse if inner in body else body
    for block in (getattr(outer, "body", None), getattr(outer, "orelse", None), getattr(outer, "finalbody", None)):
        if isinstance(block, list) and inner in block:
            before = (one for one in block[: block.index(inner)] if isinstance(one, ast.If) and leaves(one.body))
            yield from ((one.test, one.body) for one in before)


def _has_heir(names: Names, arm: Sequence[ast.AST], node: ast.AST) -> bool:
    """Whether an arm does with the new name, for the same device, what is done with the old one at `node`."""
    api = old(names.qualified(node) or "") if isinstance(node, ast.Name | ast.Attribute) else None
    if api is None or not isinstance(node, ast.expr):
        return False
    options = _options(called(names, node), api)
    new = [one for each in arm for one in ast.walk(each) if isinstance(one, ast.Name | ast.Attribute)]
    found = [one for one in new if names.qualified(one) in CURRENT[api.symbol]]
    return any(_options(called(names, one), api) == options for one in found)


def _options(call: ast.Call | None, api: Old) -> list[str] | None:
    """What a call is given besides the device that the old name implies; None of a name that is not called."""
    if call is None:
        return None
    device = device_argument(call)
    given = [one.value if isinstance(one, ast.keyword) else one for one in written(call)]
    return sorted(ast.unparse(one) for one in given if one is not device or literal(device) != api.device)


@lru_cache(maxsize=1 << 10)  # each use of an old name asks what stands before it
def tests_version(test: ast.expr) -> bool:
    """Whether a condition asks for a release of a library, or for a name of torch."""
    return _VERSION_TEST.search(ast.unparse(test)) is not None


def _catches_missing(outer: ast.Try, inner: ast.AST) -> bool:
    is_import = isinstance(inner, ast.Import | ast.ImportFrom)
    expected = CATCHES_MISSING if is_import else _MISSING
    if inner in outer.handlers:
        return bool(caught(inner) & (expected | {"TypeError"})) or any(map(_tries_amp, outer.body))
    if inner not in outer.body:
        return False
    return any(caught(one) & expected and not raises(one.body) for one in outer.handlers)


def _tries_amp(statement: ast.stmt) -> bool:
    """Whether mixed precision is tried first: what catches the error, of whatever kind, is for an older torch."""
    return AMP.search(ast.unparse(statement)) is not None


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block certainly ends by leaving the code around it."""
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


def raises(block: Sequence[ast.stmt]) -> bool:
    """Whether a handler ends by raising: what returns or goes on with a loop provides for the error."""
    return bool(block) and isinstance(block[-1], ast.Raise)


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
AMP = re.compile(r"\btorch\.amp\b|\bautocast\b|\bGradScaler\b|\bcustom_[fb]wd\b")


def caught(handler: ast.AST) -> set[str]:
    """The names of the exceptions that `handler` catches; a bare `except` is `BaseException`."""
    if not isinstance(handler, ast.ExceptHandler) or handler.type is None:
        return {"BaseException"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(one).rpartition(".")[2] for one in kinds}
