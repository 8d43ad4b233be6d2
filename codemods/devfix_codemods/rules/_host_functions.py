"""Functions that work on the host alone: by name or docstring, by what they refuse, or by where they are called."""

import ast
import re


def gives_host(node: "_Documented") -> bool:
    """Whether the docstring says that what a function gives is on the host: it has no word of another place."""
    text = _docstring(node)
    return _OF_THE_HOST.search(text) is not None and _ELSEWHERE.search(text) is None


def _docstring(node: "_Documented") -> str:
    return " ".join((ast.get_docstring(node, clean=False) or "").split())


_Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module
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
