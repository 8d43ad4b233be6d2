"""Functions that work on the host alone: by name or docstring, by what they refuse, or by where they are called."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.places import Place, Symbol, may_be_device
from devfix_codemods.program import Program
from devfix_codemods.rules._host_literals import is_host_literal


def is_for_host(program: Program, function: scope.Function) -> bool:
    """Whether no tensor on a device gets through the function, as far as its file and its bases say."""
    if _overrides_host(program, function):
        return True
    data = program.source.data
    if not any(one in data for one in (b"cpu", b"CPU", b"is_cuda", b"host")):
        return False
    if says_host(function.name) or is_said_of_host(program, function) or _is_called_on_host(program, function):
        return True
    return _ASKS.search(data) is not None and (_refuses(function) or _asks_a_helper(program, function))


def is_in_host_lambda(program: Program, node: ast.AST) -> bool:
    """Whether `node` stands in a lambda that is for the host, by the name, the key or the keyword that it gets."""
    inner = next((one for one in program.names.ancestors(node) if isinstance(one, ast.Lambda)), None)
    if inner is None:
        return False
    match program.names.parent(inner):
        case ast.Assign(targets=targets):
            return any(says_host(last_name(one) or "") for one in targets)
        case ast.keyword(arg=str(name)):
            return says_host(name)
        case ast.Dict(keys=keys, values=values):
            key = keys[values.index(inner)]
            return isinstance(key, ast.Constant) and says_host(str(key.value))
    return False


def is_said_of_host(program: Program, function: scope.Function) -> bool:
    """Whether the docstring of the function says that its tensors are on the host, or that of what it stands in.

    So does that of a method of a base, which it overrides. A class or a file that speaks of other places too has
    functions for these.
    """
    around = (one for one in program.names.ancestors(function) if isinstance(one, (*_DOCUMENTED, ast.Module)))
    return (
        _OF_THE_HOST.search(_docstring(function)) is not None
        or any(map(gives_host, around))
        or _overrides_host(program, function)
    )


def is_for_host_at(program: Program, function: scope.Function, place: Place) -> bool:
    """Whether a function is for the host, where a value may be at `place`: nothing that it names itself says else."""
    return (not may_be_device(place) or _is_named_elsewhere(function, place)) and is_for_host(program, function)


def _is_named_elsewhere(function: scope.Function, place: Place) -> bool:
    """Whether a place is where a tensor of another function is: `x.device` of an `x` that is not known here."""
    named = place.token.rpartition("#")[2] if isinstance(place, Symbol) else ""
    root, _, last = named.partition(".")
    bound = set(scope.parameters(function)) | {name for one in function.body for name in scope.stored(one)}
    return last == "device" and root != "self" and root not in bound


def gives_host(node: "_Documented") -> bool:
    """Whether the docstring says that what a function gives is on the host: it has no word of another place."""
    text = _docstring(node)
    return _OF_THE_HOST.search(text) is not None and _ELSEWHERE.search(text) is None


def _overrides_host(program: Program, function: scope.Function) -> bool:
    """Whether the docstring of a base's method says so, in this file or in another one of the project.

    A method that speaks of other places itself is not told by it.
    """
    owner = program.names.parent(function)
    if not isinstance(owner, ast.ClassDef) or not owner.bases or _ELSEWHERE.search(_docstring(function)) is not None:
        return False
    return any(
        _OF_THE_HOST.search(_docstring(method)) is not None
        for base in program.classes.ancestors(owner)
        for method in base.body
        if isinstance(method, scope.Function) and method.name == function.name
    )


def _docstring(node: "_Documented") -> str:
    return " ".join((ast.get_docstring(node, clean=False) or "").split())


_Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
_DOCUMENTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ELSEWHERE = re.compile(r"(?i)cuda|gpu|device|accelerat")
_ON_HOST = (
    r"\bon (?:the )?(?:cpu|host)\b(?! ?(?:/|,|or\b|and\b) ?(?:on )?(?:the |a )?(?:cuda|gpu|device|accelerat|mps)"
    r"|,? (?:by default|if|when|unless|until|while|before|then)\b)"
)
_DTYPE = r"(?:(?:b?float|u?int|complex)\d*|bool(?:ean)?|double|long)"
_WORK = r"(?:everything|all|work|computations?|function|method|metric|it)"
_OF_THE_HOST = re.compile(
    rf"(?i)\bcpu[- ](?:{_DTYPE} )?tensors?\b|\bcpu[- ]only (?:\w+ )?(?:implementation|version|function|path)\b"
    rf"|\b(?:tensors?|inputs|arguments) (?:(?:is|are|must be|lives?) )?{_ON_HOST}|\b{_DTYPE}`*,? {_ON_HOST}"
    r"|(?<!not )(?<!not be )(?<!n't )(?<!can )(?<!cannot )(?<!could )(?<!may )(?<!also )(?<!to )(?<!when )(?<!if )"
    rf"\b(?:(?:runs?|works?|operates?|executes?|executed)|{_WORK} (?:is|are) (?:computed|done|performed))"
    rf"(?: only| always| entirely)? {_ON_HOST}"
)
"""Of text with single spaces. What only can run there, or does so at times, may be given tensors of any place."""


def says_host(name: str) -> bool:
    """`groups_cpu`, `host_part`."""
    return not {"cpu", "host"}.isdisjoint(name.rpartition(".")[2].lower().split("_"))


_ASKS = re.compile(rb"\.is_cpu\b|\.is_cuda\b|\.device(?:\.type)?\s*[!=]=")
"""What a test of a place holds, as `_asks_for` reads it."""


def _refuses(function: scope.Function) -> bool:
    """`if x.device.type != "cpu": raise`, `assert x.is_cpu`."""
    for one in ast.walk(function):
        if isinstance(one, ast.If) and isinstance(one.body[-1], ast.Raise) and _asks_for(one.test, host=False):
            return True
        if isinstance(one, ast.Assert) and _asks_for(one.test, host=True):
            return True
    return False


def _asks_for(test: ast.expr, *, host: bool) -> bool:
    """Whether a test holds for tensors of the host alone, or holds for all that are elsewhere."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _asks_for(inner, host=not host)
        case ast.BoolOp(op=op, values=parts):
            return isinstance(op, ast.And) is host and any(_asks_for(one, host=host) for one in parts)
        case ast.Attribute(attr="is_cpu"):
            return host
        case ast.Attribute(attr="is_cuda"):
            return not host
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[other]):
            asked = (dotted(left) or "").endswith((".device", ".device.type"))
            return asked and isinstance(op, ast.Eq) is host and is_host_literal(other)
    return False


def _asks_a_helper(program: Program, function: scope.Function) -> bool:
    """Whether it hands something to a function of the file that refuses what is not on the host."""
    called = {dotted(one.func) for one in ast.walk(function) if isinstance(one, ast.Call)}
    helpers = (one for one in program.tree.body if isinstance(one, scope.Function) and one.name in called)
    return any(_refuses(one) for one in helpers)


def _is_called_on_host(program: Program, function: scope.Function) -> bool:
    """Whether a private function is called where only the host is meant.

    That is under `if x.device.type == "cpu"`, and in functions that say that they work there.
    """
    if not function.name.startswith("_") or function.name.startswith("__"):
        return False
    calls = [one for one in program.names.calls if (dotted(one.func) or "").rpartition(".")[2] == function.name]
    return bool(calls) and all(
        any(_asks_for(test, host=True) for test in _held(program, one)) or _stands_in_host(program, one, function)
        for one in calls
    )


def _stands_in_host(program: Program, call: ast.Call, called: scope.Function) -> bool:
    around = scope.function_around(program, call)
    return around is not None and around is not called and is_said_of_host(program, around)


def _held(program: Program, node: ast.AST) -> Iterator[ast.expr]:
    """The tests that hold where `node` stands."""
    inner = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, ast.If) and inner in outer.body:
            yield outer.test
        inner = outer
