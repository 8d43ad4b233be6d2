"""What docstrings promise: that a function gives tensors of the host."""

import ast
import re

from devfix_codemods.ir import Function

_OF_HOST = re.compile(r"(?i)\bcpu[- ](?:\w+ )?tensors?\b|\btensors? on (?:the )?(?:cpu|host)\b")
_ELSEWHERE = re.compile(r"(?i)cuda|gpu|device|accelerat")


def gives_host(function: Function) -> bool:
    """Whether its docstring says that a function gives tensors of the host, and speaks of no other place."""
    if not isinstance(function.syntax, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    text = " ".join((ast.get_docstring(function.syntax, clean=False) or "").split())
    return _OF_HOST.search(text) is not None and _ELSEWHERE.search(text) is None
