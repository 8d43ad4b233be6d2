"""Streams of the current card, beside moves to a device that an object keeps: they may be of another card."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Argument, Edit, RewriteCall
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program

_TAKE_CURRENT = frozenset({"torch.cuda.Stream", "torch.cuda.current_stream", "torch.cuda.default_stream"})

_OF_CUDA = frozenset({"self.is_cuda", "self.device.type == 'cuda'"})


@dataclass(frozen=True, slots=True)
class OtherStream:
    """`made` makes a stream of the current card; `edits` take those of `self.device`, there and below."""

    made: ast.Call
    edits: tuple[Edit, ...]


def makes_streams(data: bytes) -> bool:
    """Whether a stream is made of the current card, and something goes to `self.device`."""
    return b"cuda.Stream()" in data and b"self.device" in data


def other_streams(program: Program) -> Iterator[OtherStream]:
    """Streams that a method makes where it asks for CUDA, for what it moves to `self.device`."""
    for made in program.names.calls:
        function = scope.function_around(program, made)
        if function is None or program.names.qualified(made.func) != "torch.cuda.Stream" or made.args or made.keywords:
            continue
        if _asks(program, made, function) and any(_moves_to_own(one) for one in ast.walk(function)):
            calls = [
                one for one in ast.walk(function) if isinstance(one, ast.Call) and not one.args and not one.keywords
            ]
            found = [one for one in calls if program.names.qualified(one.func) in _TAKE_CURRENT]
            device = (Argument("self.device", "device"),)
            yield OtherStream(made, tuple(RewriteCall(program.source.span(one), None, device) for one in found))


def _asks(program: Program, made: ast.Call, function: scope.Function) -> bool:
    """Whether the device is seen to be of CUDA there: on the host, a stream for it could not be made."""
    for one in program.names.ancestors(made):
        if one is function:
            return False
        inside = isinstance(one, ast.If) and any(made in ast.walk(inner) for inner in one.body)
        if inside and isinstance(one, ast.If) and ast.unparse(one.test) in _OF_CUDA:
            return True
    return False


def _moves_to_own(node: ast.AST) -> bool:
    """`x.to(self.device, …)`, `x.to(device=self.device, …)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "to":
        return False
    given = [*node.args[:1], *(one.value for one in node.keywords if one.arg == "device")]
    return any(dotted(one) == "self.device" for one in given)
