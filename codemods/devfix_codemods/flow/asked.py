"""Conditions that ask whether a value is a tensor, or a tensor whether it is on an accelerator."""

import ast
import re

from devfix_codemods.flow.evidence import dotted, last_name

_CUDA_TENSOR = re.compile(r"(?:torch\.)?cuda\.\w*Tensor")
_NO_TENSORS = frozenset({"ndarray", "list", "tuple", "dict", "str", "int", "float", "bool"})
_HOST_TENSOR = re.compile(r"torch\.\w*Tensor")


def tensor_branch(choice: ast.IfExp) -> ast.expr | None:
    """`x.cpu()` of `x.cpu() if isinstance(x, torch.Tensor) else x`: what it is for tensors; None of other choices."""
    if (asked := asked_tensor(choice.test)) is None:
        return None
    name, holds = asked
    tensor, other = (choice.body, choice.orelse) if holds else (choice.orelse, choice.body)
    return tensor if isinstance(other, ast.Name) and other.id == name else None


def asked_tensor(test: ast.expr) -> tuple[str, bool] | None:
    """The name of which a condition asks whether it is a tensor, and how that turns out for one."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = asked_tensor(operand)
            return (inner[0], not inner[1]) if inner is not None else None
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), kind]):
            kinds = {last_name(one) for one in (kind.elts if isinstance(kind, ast.Tuple) else [kind])}
            return (name, True) if kinds == {"Tensor"} else (name, False) if kinds <= _NO_TENSORS else None
        case ast.Call(func=function, args=[ast.Name(id=name)]):
            return (name, True) if last_name(function) == "is_tensor" else None
    return None


def brings_if_elsewhere(branch: ast.If) -> bool:
    """`if x.device != device: x = x.to(device)`: on either way `x` is there."""
    match branch:
        case ast.If(
            test=ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]),
            body=[
                ast.Assign(
                    targets=[target], value=ast.Call(func=ast.Attribute(value=moved, attr="to"), args=[place, *_])
                )
            ],
            orelse=[],
        ):
            tensor = dotted(moved)
            compared = {ast.unparse(left), ast.unparse(right)}
            return (
                tensor is not None and dotted(target) == tensor and compared == {f"{tensor}.device", ast.unparse(place)}
            )
    return False


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
