"""Legacy constructors that are given a device: `torch.Tensor(3, device=device)` makes tensors on the host only."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.edits.operations import Edit, ReplaceExpression
from devfix_codemods.flow import tables
from devfix_codemods.program import Program
from devfix_codemods.rules._host_literals import is_host
from devfix_codemods.source import Span

_FILLS = frozenset({"uniform_", "normal_", "exponential_", "bernoulli_", "random_", "fill_", "zero_"})
_FLOATS = frozenset({"torch.FloatTensor", "torch.Tensor"})


@dataclass(frozen=True, slots=True)
class Given:
    """A legacy constructor, and the keyword that gives it a device."""

    call: ast.Call
    device: ast.keyword

    def gives_size(self, program: Program) -> bool:
        """`torch.FloatTensor((n, 1), device=device).uniform_()`: what is overwritten at once was meant as the size."""
        method = program.names.parent(self.call)
        return (
            isinstance(method, ast.Attribute)
            and method.attr in _FILLS
            and program.names.qualified(self.call.func) in _FLOATS
            and len(self.call.args) == len(self.call.keywords) == 1
            and isinstance(self.call.args[0], ast.Tuple)
            and isinstance(self.call.func, ast.Attribute)
        )

    def edit(self, program: Program) -> Edit | None:
        """The call without the keyword, then moved; None where a comment stands in the call.

        A size is given to `torch.empty`, which takes a device.
        """
        span, text = program.source.span(self.call), program.source.segment
        if "#" in text(span):
            return None
        if self.gives_size(program) and isinstance(self.call.func, ast.Attribute):
            function = f"{text(program.source.span(self.call.func.value))}.empty"
            return ReplaceExpression(program.source.span(self.call.func), function)
        before = [*self.call.args, *(one.value for one in self.call.keywords[: self.call.keywords.index(self.device)])]
        value = program.source.span(self.device.value)
        if before:
            start = text(Span(*span.start, *program.source.span(before[-1]).end))
        else:
            start = f"{text(program.source.span(self.call.func))}("
        code = f"{start}{text(Span(*value.end, *span.end))}.to({text(value)})"
        return ReplaceExpression(span, _dedented(code, program.names.statement(self.call).col_offset))


def _dedented(code: str, width: int) -> str:
    """Without the indentation of the statement around, which an edit gives to each line again."""
    first, *rest = code.splitlines(keepends=True)
    return "".join([first, *(one[width:] if not one[:width].strip() else one for one in rest)])


def given_devices(program: Program) -> Iterator[Given]:
    """All of them but those for the host, which are asked for what they do."""
    for call in program.names.calls:
        device = next((one for one in call.keywords if one.arg == "device"), None)
        if device is None or program.names.qualified(call.func) not in tables.LEGACY_CONSTRUCTORS:
            continue
        unset = isinstance(device.value, ast.Constant) and device.value.value is None
        if not unset and not is_host(program, device.value):
            yield Given(call, device)
