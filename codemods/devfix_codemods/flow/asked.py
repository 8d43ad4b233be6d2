"""Conditions that ask a tensor whether it is on an accelerator."""

import ast
import re

from devfix_codemods.flow.evidence import dotted

_CUDA_TENSOR = re.compile(r"(?:torch\.)?cuda\.\w*Tensor")
_HOST_TENSOR = re.compile(r"torch\.\w*Tensor")


def asks_type(test: ast.Call) -> bool:
    """`isinstance(x, torch.cuda.FloatTensor)`."""
    kinds = test.args[1:] if isinstance(test.func, ast.Name) and test.func.id == "isinstance" else []
    named = [one for each in kinds for one in (each.elts if isinstance(each, ast.Tuple) else [each])]
    return any(_CUDA_TENSOR.fullmatch(dotted(one) or "") for one in named)


def asks_tensor(test: ast.Compare) -> bool | None:
    """`x.device.type == "cuda"`, `x.type() != "torch.FloatTensor"`: how it turns out for a tensor on an accelerator."""
    match test:
        case ast.Compare(
            left=(
                ast.Call(func=ast.Attribute(attr="type"), args=[])
                | ast.Attribute(attr="type", value=ast.Attribute(attr="device"))
            ),
            ops=[ast.Eq() | ast.NotEq() as operator],
            comparators=[ast.Constant(value=str() as named)],
        ):
            elsewhere = "cuda" in named
            known = elsewhere or named == "cpu" or _HOST_TENSOR.fullmatch(named) is not None
            return elsewhere is isinstance(operator, ast.Eq) if known else None
    return None
