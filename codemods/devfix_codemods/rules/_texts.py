"""Elements of a batch that are text, by what the code around says of them: an annotation, or a word beside them."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import sounds_like_text
from devfix_codemods.program import Program

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
    given = [one for one in program.names.calls if _gets(one, name)]
    if any(_ENCODERS.search(dotted(one.func) or "") for one in given):
        return True
    functions = [one for one in ast.walk(program.tree) if isinstance(one, scope.Function)]
    if any(_is_text(one, name) for one in functions):
        return True
    return any(_takes_text(program, functions, one, name) for one in given)


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
