"""What docstrings and names promise: that a function gives, or works on, tensors of the host."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods.ir import Function

_OF_HOST = re.compile(r"(?i)\bcpu[- ](?:\w+ )?tensors?\b|\btensors? on (?:the )?(?:cpu|host)\b")
_ELSEWHERE = re.compile(r"(?i)cuda|gpu|device|accelerat")
_ON_HOST = (
    r"\bon (?:the )?(?:cpu|host)\b(?! ?(?:/|,|or\b|and\b) ?(?:on )?(?:the |a )?(?:cuda|gpu|device|accelerat|mps)"
    r"|,? (?:by default|if|when|unless|until|while|before|then)\b)"
)
_DTYPE = r"(?:(?:b?float|u?int|complex)\d*|bool(?:ean)?|double|long)"
_WORK = r"(?:everything|all|work|computations?|function|method|metric|it)"
_WORKS_ON_HOST = re.compile(
    rf"(?i)\bcpu[- ](?:{_DTYPE} )?tensors?\b|\bcpu[- ]only (?:\w+ )?(?:implementation|version|function|path)\b"
    rf"|\b(?:tensors?|inputs|arguments) (?:(?:is|are|must be|lives?) )?{_ON_HOST}|\b{_DTYPE}`*,? {_ON_HOST}"
    r"|(?<!not )(?<!not be )(?<!n't )(?<!can )(?<!cannot )(?<!could )(?<!may )(?<!also )(?<!to )(?<!when )(?<!if )"
    rf"\b(?:(?:runs?|works?|operates?|executes?|executed)|{_WORK} (?:is|are) (?:computed|done|performed))"
    rf"(?: only| always| entirely)? {_ON_HOST}"
)
"""Of text with single spaces. What only can run there, or does so at times, may be given tensors of any place."""


def gives_host(function: Function) -> bool:
    """Whether its docstring says that a function gives tensors of the host, and speaks of no other place."""
    text = _on_one_line(_docstring(function.syntax))
    return _speaks_of_host(text) and _OF_HOST.search(text) is not None and _ELSEWHERE.search(text) is None


def works_on_host(function: Function, *, moves: bool) -> bool:
    """Whether a function says, by its name or the docstring nearest to it, that it works on tensors of the host.

    The name of one that moves something may say from where, or where to.
    """
    if not moves and not {"cpu", "host"}.isdisjoint(function.name.lower().split("_")):
        return True
    texts = list(_docstrings(function))
    if not any(map(_speaks_of_host, texts)):
        return False
    for text in map(_on_one_line, texts):
        if _ELSEWHERE.search(text) is not None:
            return False
        if _speaks_of_host(text) and _WORKS_ON_HOST.search(text) is not None:
            return True
    return False


def _speaks_of_host(text: str) -> bool:
    """Whether a text has one of the words that all promises have: sooner seen than the promise itself."""
    lowered = text.lower()
    return "cpu" in lowered or "host" in lowered


def _docstrings(function: Function) -> Iterator[str]:
    """The docstrings of a function, of those that it overrides, of its class, and of the file."""
    yield _docstring(function.syntax)
    if function.owner is not None:
        for one in function.owner.lineage():
            if function.name in one.methods:
                yield _docstring(one.methods[function.name].syntax)
        yield _docstring(function.owner.syntax)
    yield _docstring(function.module.tree)


def _docstring(node: ast.AST) -> str:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
        return ""
    return ast.get_docstring(node, clean=False) or ""


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
