"""What the amp rules share: the APIs by name, calls as they are written, and code that chooses by torch version."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Argument
from devfix_codemods.flow.names import Names
from devfix_codemods.program import Program
from devfix_codemods.source import Source

AUTOCAST = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
GRAD_SCALER = frozenset({"torch.GradScaler", "torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler"})
CUSTOM = frozenset({"torch.amp.custom_fwd", "torch.amp.custom_bwd"})
AVAILABLE = frozenset({"torch.amp.is_autocast_available", "torch.amp.autocast_mode.is_autocast_available"})
CURRENT = {"autocast": AUTOCAST, "GradScaler": GRAD_SCALER, "custom_fwd": CUSTOM, "custom_bwd": CUSTOM}

_OLD = re.compile(
    r"torch\.(?P<device>cuda|cpu)\.amp"
    r"\.(?:(?:autocast_mode\.)?(?P<function>autocast|custom_fwd|custom_bwd)|(?:grad_scaler\.)?(?P<scaler>GradScaler))"
)
_VERSION_TEST = re.compile(
    r"(?<![a-z])version|torchversion|(?:has|get)attr\((?:torch|th|amp|cuda)\b|torch_?\w*\d|\d\w*torch|torch_(?:ge|lt|gte|le)"
    r"|\w\('(?:[<>=!]+ *)?\d+\.\d|find_(?:spec|loader)\('torch\b|\b(?:dir|vars)\((?:torch|th)\b",
    re.IGNORECASE,
)
_MISSING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError"})
CATCHES_MISSING = _MISSING | {"Exception", "BaseException"}
"""What catches that a name is missing, and maybe more."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Written = ast.expr | ast.keyword


@dataclass(frozen=True, slots=True)
class Old:
    """A name in `torch.cuda.amp` or `torch.cpu.amp` that has its heir in `torch.amp`."""

    symbol: str
    device: str


def old(qualified: str) -> Old | None:
    """The deprecated name that `qualified` spells, or None."""
    found = _OLD.fullmatch(qualified)
    return Old(found["function"] or found["scaler"], found["device"]) if found else None


def called(names: Names, reference: ast.expr) -> ast.Call | None:
    """The call of which `reference` is the function."""
    parent = names.parent(reference)
    return parent if isinstance(parent, ast.Call) and parent.func is reference else None


def decorates(names: Names, reference: ast.expr) -> bool:
    """Whether `reference` is a decorator by itself, without a call."""
    parent = names.parent(reference)
    return isinstance(parent, (_Function, ast.ClassDef)) and reference in parent.decorator_list


def written(call: ast.Call) -> list[Written]:
    """The arguments in the order of the source, which is how `edits.Argument` counts them."""
    both: list[Written] = [*call.args, *call.keywords]
    return sorted(both, key=lambda one: (one.lineno, one.col_offset))


def kept(call: ast.Call, names: Sequence[str] = ()) -> list[Argument]:
    """The arguments as they are, the positional ones with `names` as their keywords."""
    keywords = dict(zip(call.args, names))
    return [
        Argument(index, one.arg if isinstance(one, ast.keyword) else keywords.get(one))
        for index, one in enumerate(written(call))
    ]


def has_star(call: ast.Call) -> bool:
    """Whether the call has `*args`, so that no position is certain."""
    return any(isinstance(one, ast.Starred) for one in call.args)


def has_double_star(call: ast.Call) -> bool:
    """Whether the call has `**options`, so that any keyword may be present."""
    return any(one.arg is None for one in call.keywords)


def keyword(call: ast.Call, *names: str) -> ast.keyword | None:
    """The first keyword argument with one of `names`."""
    return next((one for one in call.keywords if one.arg in names), None)


def device_argument(call: ast.Call) -> ast.expr | None:
    """What a call of a current amp API is given as its device, by position or by keyword, however that is spelt."""
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    found = keyword(call, "device_type", "device")
    return found.value if found else None


def literal(node: ast.expr | None) -> str | None:
    """The text of a string literal."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def root(node: ast.expr) -> ast.Name | None:
    """The name at the left end of a dotted expression."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def quoted(source: Source, text: str) -> str:
    """`text` as a literal in the quotes that most short strings of the file have."""
    counts = {"'": 0, '"': 0}
    for token in _strings(source.text):
        body = token.lstrip("rRbBuUfF")
        if body[:3] not in ("'''", '"""'):
            counts[body[0]] += 1
    mark = "'" if counts["'"] > counts['"'] else '"'
    return f"{mark}{text}{mark}"


def _strings(text: str) -> Iterator[str]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.STRING:
                yield token.string
    except (tokenize.TokenError, SyntaxError):
        return


def exported(program: Program, name: str, statement: ast.stmt) -> bool:
    """Whether the module-level name that `statement` binds is offered to other modules."""
    if any(isinstance(one, _Function | ast.ClassDef) for one in program.names.ancestors(statement)):
        return False
    is_package = program.source.path.replace("\\", "/").endswith("__init__.py")
    return is_package or name in _declared_exports(program.tree)


def _declared_exports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AugAssign | ast.AnnAssign) and statement.value is not None:
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
            before = (one for one in block[: block.index(inner)] if isinstance(one, ast.If) and scope.leaves(one.body))
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
    return any(caught(one) & expected and not scope.leaves(one.body) for one in outer.handlers)


def _tries_amp(statement: ast.stmt) -> bool:
    """Whether mixed precision is tried first: what catches the error, of whatever kind, is for an older torch."""
    return AMP.search(ast.unparse(statement)) is not None


AMP = re.compile(r"\btorch\.amp\b|\bautocast\b|\bGradScaler\b|\bcustom_[fb]wd\b")


def caught(handler: ast.AST) -> set[str]:
    """The names of the exceptions that `handler` catches; a bare `except` is `BaseException`."""
    if not isinstance(handler, ast.ExceptHandler) or handler.type is None:
        return {"BaseException"}
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {ast.unparse(one).rpartition(".")[2] for one in kinds}
