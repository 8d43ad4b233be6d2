"""Elements of a batch that are text, by what the code around says of them: an annotation, or a word beside them."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import sounds_like_text
from devfix_codemods.program import Program
from devfix_codemods.rules._called import called_object, class_of
from devfix_codemods.rules._callers import arguments
from devfix_codemods.rules._moving_helpers import item_names

_STRINGS = re.compile(r"\bstr\b")
_ENCODERS = re.compile(
    r"(?i)tokeni[sz]|(?:text|prompt|caption|sentence)_?(?:encod|embed)|(?:encode|embed)_?(?:text|prompt)"
)


def may_be_text(program: Program, name: str, call: ast.AST) -> bool:
    """Whether what `name` holds, which `call` gets, may be a string or a list of strings."""
    if not name.isidentifier():
        return False
    if isinstance(call, ast.Call) and _names_text(call):
        return True
    around = scope.function_around(program, call)
    if around is not None and _reads_text(around, name):
        return True
    if isinstance(call, ast.Call) and any(_reads_text(one, each) for one, each in run_with(program, call, name)):
        return True
    given = [one for one in program.names.calls if _gets(one, name)]
    if any(_ENCODERS.search(dotted(one.func) or "") for one in given):
        return True
    functions = [one for one in ast.walk(program.tree) if isinstance(one, scope.Function)]
    if any(_is_text(one, name) for one in functions):
        return True
    return any(_takes_text(program, functions, one, name) for one in given)


def run_with(program: Program, call: ast.Call, name: str) -> Iterator[tuple[scope.Function, str]]:
    """What runs as the model that `call` calls, with the parameter that gets `name`: a caller may say its class."""
    found = called_object(program, call)
    function = scope.function_around(program, call)
    methods = [found[1]] if found is not None else []
    name_of_model = call.func.id if isinstance(call.func, ast.Name) else ""
    if found is None and function is not None and name_of_model in scope.parameters(function):
        for where, model in arguments(program, function, name_of_model):
            owner = class_of(where, model) if isinstance(model, ast.Name) else None
            forward = where.classes.methods(owner).get("forward") if owner is not None else None
            methods += [forward] if forward is not None else []
    yield from ((one, each) for one in methods for each in parameters_of(one, call, name))


def _reads_text(function: scope.Function, name: str) -> bool:
    """Whether a function reads what it is given, or an item of it, as a string: `x[i].split(" ")`, `"[CLS]" + x[i]`."""
    names = item_names(function, name)
    for one in ast.walk(function):
        match one:
            case ast.Call(func=ast.Attribute(value=value, attr=attr), args=given):
                if _root(value) in names and (
                    attr in _OF_STRINGS or (attr in _WITH_TEXT and any(map(_is_string, given)))
                ):
                    return True
                if _ENCODERS.search(attr) and any(_root(each) in names for each in given):
                    return True
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                if any(_is_string(first) and _root(other) in names for first, other in ((left, right), (right, left))):
                    return True
    return False


_OF_STRINGS = frozenset(
    {"strip", "lstrip", "rstrip", "lower", "upper", "startswith", "endswith", "splitlines", "title"}
)
_WITH_TEXT = frozenset({"split", "rsplit", "replace", "find", "partition", "join"})


def _root(node: ast.expr) -> str | None:
    inner = scope.indexed(node)
    return inner.id if isinstance(inner, ast.Name) else None


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _gets(call: ast.Call, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in scope.given_to(call))


def _names_text(call: ast.Call) -> bool:
    """`encode(x, kind="text")`."""
    words = (one.value for one in scope.given_to(call) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return any(map(sounds_like_text, words))


def _is_text(function: scope.Function, name: str) -> bool:
    """A parameter that may be a string by its annotation."""
    annotation = scope.annotation(function, name)
    return annotation is not None and _STRINGS.search(ast.unparse(annotation)) is not None


def _takes_text(program: Program, functions: list[scope.Function], call: ast.Call, name: str) -> bool:
    """Whether the function that is called, here or in another file of the project, says so of its parameter."""
    found = [one for one in functions if one.name == (dotted(call.func) or "").rpartition(".")[2]]
    if len(found) != 1 and program.project is not None and (imported := program.names.imported(call.func)) is not None:
        there = program.project.lookup(program.unit, imported)
        found = [there.definition] if there is not None and isinstance(there.definition, scope.Function) else []
    return any(_is_text(one, parameter) for one in found for parameter in parameters_of(one, call, name))


def parameters_of(function: scope.Function, call: ast.Call, name: str) -> Iterator[str]:
    """The parameters of `function` to which `call` gives what it holds under `name`."""
    names = [one for one in scope.parameters(function) if one not in {"self", "cls"}]
    for parameter, value in zip(names, call.args):
        if dotted(value) == name:
            yield parameter
    for one in call.keywords:
        if one.arg is not None and dotted(one.value) == name:
            yield one.arg
