"""The oldest torch that code provides for: releases it compares, names it looks for, imports it lets fail.

The files that run with the one at hand are read too: those of its packages, and what these and it import.
"""

import ast
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from devfix_codemods.precision.api import literal
from devfix_codemods.precision.versions import AMP, CATCHES_MISSING, caught, raises, tests_version
from devfix_codemods.project.files import Project
from devfix_codemods.project.units import Unit

Release = tuple[int, int]

_OLD_NAMES: Release = (1, 6)
"""The release of `torch.cuda.amp`: where that is named, code that asks for an older one asks for something else."""

_SINCE: dict[str, Release] = {
    "torch.cuda.amp": (1, 6),
    "torch.absolute": (1, 7),
    "torch.broadcast_to": (1, 8),
    "torch.inference_mode": (1, 9),
    "torch.autocast": (1, 10),
    "torch.arctan2": (1, 11),
    "torch.amp": (1, 12),
    "torch.amp.autocast_mode": (1, 12),
    "torch.amp.GradScaler": (2, 3),
    "torch.amp.grad_scaler": (2, 3),
    "torch.GradScaler": (2, 3),
    "torch.amp.custom_fwd": (2, 4),
    "torch.amp.custom_bwd": (2, 4),
    "torch.compile": (2, 0),
    "torch.compiler": (2, 1),
    "torch._dynamo": (2, 0),
    "torch.func": (2, 0),
    "torch.vmap": (2, 0),
    "torch.set_default_device": (2, 0),
    "torch.optim.lr_scheduler.LRScheduler": (2, 0),
    "torch.nn.functional.scaled_dot_product_attention": (2, 0),
    "torch.nn.attention": (2, 2),
}
"""Names of torch that code for several releases asks for, with the first release that has them."""

_SPEAKS = re.compile(
    rb"(?i:version|torch_?(?:major|minor|[gl][te]|ge?q?))|(?:has|get)attr\(|find_spec\("
    rb"|ImportError|ModuleNotFoundError|AttributeError|except:|except[ (]+(?:Base)?Exception\b"
)
_GIVES_RELEASE = re.compile(rb"\w\([\"']\d+\.\d+(?:\.\d+)?[\"'][,)]")
_ASKED = re.compile(
    r"(?i)(?<![\w.])torch\.(?:version\.)?__version__|torch_?(?:version|major|ver)\b|torch_(?:ge|lt|gte|le|gt)\b"
    r"|(?:version|require)\w*\([\"']torch[\"']"
)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_VERSIONS = frozenset({"torch.__version__", "torch.version.__version__"})
_LIBRARY = re.compile(r"(?!(?:torch|ge|gt|le|lt|eq|ne)$)[A-Za-z][\w.-]*")
_COMPARES_TORCH = re.compile(r"torch\.(?:version\.)?__version__|[\"']torch[\"']|(?i:torch_?version)")
_ASKS = re.compile(r"(?i)torch_(?:version|greater|less|gte?|lte?|ge|le|at_least)|torch_?ge?q?$")
_MAJOR = re.compile(r"(?i)torch_?major|__version__\.split\([^)]*\)\[0\]|\.major\b")
_TORCH = re.compile(r"(?i)torch(?!vision|audio|text|metrics)")
_RELEASE = re.compile(r"(\d+)(?:\.|, )(\d+)")
_NEWEST_MAJOR = 2


@dataclass(frozen=True, slots=True)
class Older:
    """A release that the file called `name` asks for: the code is for older ones too, or, if `least`, from it on."""

    release: Release
    name: str | None = None
    least: bool = False

    def may_lack(self, since: Release) -> bool:
        """Whether the code may run on a torch without what came with the release `since`."""
        return self.release < since or (self.release == since and not self.least)


@dataclass(slots=True)
class _Provision:
    """What one file says: the releases on both sides of which it works, and those below which it refuses to."""

    chosen: list[Release] = field(default_factory=list)
    refused: list[Release] = field(default_factory=list)


def oldest(unit: Unit, project: Project | None) -> Older | None:
    """The lowest release of torch by which the code chooses, or below which it ends; None where none tells."""
    found = [(None, _provision(_File(unit, project))), *_around(unit, project)]
    refused = [Older(one, name, least=True) for name, each in found for one in each.refused]
    chosen = [Older(one, name) for name, each in found for one in each.chosen]
    return max(refused, key=_release, default=None) or min(chosen, key=_release, default=None)


_release = attrgetter("release")


def _around(unit: Unit, project: Project | None) -> Iterator[tuple[str, _Provision]]:
    for path, data in project.loaded_with(unit) if project is not None else ():
        other = project.unit(path) if project is not None and _may_ask(data) else None
        if other is not None:
            yield posixpath.basename(path), _provision(_File(other, project))


def _may_ask(data: bytes) -> bool:
    speaks = b"torch" in data and _SPEAKS.search(data) is not None
    return speaks or _GIVES_RELEASE.search(data) is not None


@dataclass(frozen=True, slots=True)
class _File:
    """A file that is asked, in its project."""

    unit: Unit
    project: Project | None

    def compares_torch(self, function: ast.expr) -> bool:
        """Whether what is called is a function of the project that compares torch's release with one given."""
        spelled, defined = ast.unparse(function), self.unit.source.tree.body
        own = [one for one in defined if isinstance(one, _FUNCTIONS) and one.name == spelled]
        imported = self.unit.names.imported(function) if not own else None
        found = self.project.lookup(self.unit, imported) if self.project is not None and imported else None
        definition = own[0] if len(own) == 1 else found.definition if found is not None else None
        text = ast.unparse(definition) if isinstance(definition, _FUNCTIONS) else ""
        return "ersion" in text and _COMPARES_TORCH.search(text) is not None


def _provision(file: _File) -> _Provision:
    found, tree = _Provision(), file.unit.source.tree
    refusals: set[ast.AST] = set()
    for statement in tree.body:
        if (test := _refusing(statement)) is not None:
            refusals |= set(ast.walk(test))
            asked = [one for one in _asked(file, test) if one > _OLD_NAMES]
            found.refused += [min(asked)] if asked else []
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.IfExp(test=test) if test not in refusals:
                found.chosen += _chosen_for_amp(node, test)
            case ast.Compare() | ast.Call() if node not in refusals:
                found.chosen += [one for one in _asked(file, node) if one > _OLD_NAMES]
            case ast.Try() if _imports_torch(tree):
                found.chosen += _tried(node)
    return found


def _refusing(statement: ast.stmt) -> ast.expr | None:
    """The test of a statement that ends the program on an older torch."""
    match statement:
        case ast.Assert(test=test) if not _compares(test, _BELOW, _ABOVE):
            return test
        case ast.If(test=test, body=[*_, ast.Raise()], orelse=[]) if not _compares(test, _ABOVE, _BELOW):
            return test
    return None


_Operators = tuple[type[ast.cmpop], ...]
_BELOW: _Operators = (ast.Lt, ast.LtE)
_ABOVE: _Operators = (ast.Gt, ast.GtE)


def _compares(test: ast.expr, as_left: _Operators, as_right: _Operators) -> bool:
    """Whether a test compares torch's release, on the left or on the right, by one of the operators for that side."""
    match test:
        case ast.Compare(left=left, ops=[operator]):
            return isinstance(operator, as_left if _ASKED.search(ast.unparse(left)) is not None else as_right)
    return False


def _chosen_for_amp(node: ast.If | ast.IfExp, test: ast.expr) -> Iterator[Release]:
    """What is asked to choose mixed precision, of which release it may be."""
    text = ast.unparse(test)
    release = _RELEASE.search(text) if tests_version(test) and _TORCH.search(text) else None
    if release is not None and AMP.search(ast.unparse(node)) is not None:
        yield int(release[1]), int(release[2])


def _asked(file: _File, node: ast.AST) -> Iterator[Release]:
    """The releases that the expression `node` compares torch with, or from which on there is what it looks for."""
    for one in ast.walk(node) if isinstance(node, (ast.BoolOp, ast.UnaryOp)) else (node,):
        if isinstance(one, ast.Compare):
            yield from _compared(one)
        elif isinstance(one, ast.Call):
            yield from _looked_for(file, one)


def _compared(node: ast.Compare) -> Iterator[Release]:
    text = ast.unparse(node)
    if _ASKED.search(text) is None:
        return
    if (release := _RELEASE.search(text)) is not None:
        yield from _known(int(release[1]), int(release[2]))
    elif _MAJOR.search(text) is not None:
        match node:
            case ast.Compare(ops=[ast.Lt() | ast.GtE()], comparators=[ast.Constant(value=int(major))]):
                yield from _known(major, 0)
            case ast.Compare(ops=[ast.Gt() | ast.LtE()], comparators=[ast.Constant(value=int(major))]):
                yield from _known(major + 1, 0)
            case ast.Compare(ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant(value=int(major))]):
                yield from _known(major, 0)
                yield from _known(major + 1, 0)


def _known(major: int, minor: int) -> Iterator[Release]:
    if major <= _NEWEST_MAJOR:
        yield major, minor


def _looked_for(file: _File, call: ast.Call) -> Iterator[Release]:
    """`hasattr(torch, "compile")`, `getattr(torch, "compile", None)`, `find_spec("torch.amp")`, `requires("2.0")`."""
    match call:
        case ast.Call(func=ast.Name(id="hasattr"), args=[owner, name]):
            pass
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, _]):
            pass
        case ast.Call(func=ast.Name(id="find_spec") | ast.Attribute(attr="find_spec"), args=[name]):
            since = _since(literal(name) or "")
            yield from (since,) if since is not None else ()
            return
        case ast.Call(func=ast.Name() | ast.Attribute() as func):
            yield from _compared_by_call(file, call, func)
            return
        case _:
            return
    known = _SINCE.get(f"{file.unit.names.qualified(owner) or ast.unparse(owner)}.{literal(name)}")
    if known is not None:
        yield known


def _compared_by_call(file: _File, call: ast.Call, function: ast.expr) -> Iterator[Release]:
    """`is_torch_version(">=", "2.0")`, `check(torch.__version__, "2.0")`, and `requires("2.0")` where the project says
    that this compares torch.
    """
    texts = [literal(one) or "" for one in call.args]
    release = _RELEASE.search(" ".join(texts))
    if release is None or any(map(_LIBRARY.match, texts)):
        return
    given = any(ast.unparse(one) in _VERSIONS for one in call.args)
    if given or _ASKS.search(ast.unparse(function)) is not None or file.compares_torch(function):
        yield from _known(int(release[1]), int(release[2]))


def _imports_torch(tree: ast.Module) -> bool:
    """Whether torch itself is there for certain, so that an import of it which fails is one of an older torch."""
    return any(
        (isinstance(one, ast.ImportFrom) and (one.module or "").partition(".")[0] == "torch")
        or (isinstance(one, ast.Import) and any(each.name.partition(".")[0] == "torch" for each in one.names))
        for one in tree.body
    )


def _tried(node: ast.Try) -> Iterator[Release]:
    """The releases that have what is imported, where code goes on without it."""
    if not any(caught(one) & CATCHES_MISSING and not raises(one.body) for one in node.handlers):
        return
    for one in node.body:
        if isinstance(one, ast.ImportFrom) and not one.level:
            yield from (since for each in one.names if (since := _since(f"{one.module}.{each.name}")) is not None)
        elif isinstance(one, ast.Import):
            yield from (since for each in one.names if (since := _since(each.name)) is not None)


def _since(name: str) -> Release | None:
    """The release of `name`, or of the module that it is in."""
    while name not in _SINCE and "." in name:
        name = name.rpartition(".")[0]
    return _SINCE.get(name)
