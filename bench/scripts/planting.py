"""Device bugs by deleting one move: every place in a file where a tensor or module is put on a device, and the file
without it.

A move is `x.to(device)`, `x.cuda()`, `device=` of a function of torch, or `torch.set_default_device(device)`.
That an argument of `.to` is a device and no type is read off its text: it speaks of a device, cuda, a gpu or a rank.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_DEVICE = re.compile(r"device|cuda|gpu|\brank\b|\bdev\b", re.IGNORECASE)
_FACTORY = re.compile(r"^torch\.|^nn\.|\.new_\w+$")


@dataclass(frozen=True, slots=True)
class Move:
    """One move.

    `start` and `end` are offsets in bytes of what is deleted, `whole` those of the call, `value` those of its receiver,
    if it has one; `lines` are those of the call.
    `names` are what the unmoved value is called afterwards: the targets of the assignment, else the receiver.
    """

    line: int
    text: str
    start: int
    end: int
    replacement: bytes
    names: tuple[str, ...]
    whole: tuple[int, int]
    value: tuple[int, int] | None
    lines: range

    def deleted_from(self, source: bytes) -> bytes:
        return source[: self.start] + self.replacement + source[self.end :]

    def shown_in(self, source: bytes) -> bytes:
        """The file with the move in place, printing where its value was before and is after."""
        if self.value is None:
            return source
        (first, last), (start, end) = self.whole, self.value
        moved = _SHOW % (source[first:start] + _SHOW % source[start:end] + source[end:last])
        return source[:first] + moved + source[last:]


SHOWN = "devfix-bench place:"
_SHOW = (
    b"(lambda _v: (print('" + SHOWN.encode() + b"', sorted({str(_p.device) for _p in (list(_v.parameters()) + "
    b"list(_v.buffers()) if hasattr(_v, 'parameters') else [_v])})), _v)[1])(%b)"
)


def moves(source: bytes) -> list[Move]:
    """The moves of a file in the order of their lines. A chain of two moves is two."""
    tree = ast.parse(source)
    text = _Text(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    found = [move for node in ast.walk(tree) if isinstance(node, ast.Call) for move in _moves_of(node, text, parents)]
    return sorted(found, key=lambda move: (move.line, move.start))


class _Text:
    """A source with offsets in bytes for the positions of its nodes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._starts = [0]
        for line in source.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def span(self, node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def of(self, node: ast.expr) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()


def _moves_of(call: ast.Call, text: _Text, parents: dict[ast.AST, ast.AST]) -> Iterator[Move]:
    function = call.func
    whole = text.span(call)
    if isinstance(function, ast.Attribute) and function.attr == "cuda" and _is_value(function.value):
        value = text.span(function.value)
        yield _move(call, text, parents, value[1], whole[1], b"", value)
    elif isinstance(function, ast.Attribute) and function.attr == "to" and _is_value(function.value):
        devices = [argument for argument in _arguments(call) if _DEVICE.search(text.of(argument))]
        value = text.span(function.value)
        if len(devices) == 1:
            yield _to_move(call, text, parents, devices[0], value)
    elif text.of(function) == "torch.set_default_device":
        yield _move(call, text, parents, *whole, b"None", None)
    elif _FACTORY.search(text.of(function)) and text.of(function) not in ("torch.device", "torch.load"):
        for keyword in call.keywords:
            if keyword.arg == "device" and _DEVICE.search(text.of(keyword.value)):
                start, end = text.span(keyword.value)
                yield _move(call, text, parents, start, end, b"None", None)


def _to_move(
    call: ast.Call, text: _Text, parents: dict[ast.AST, ast.AST], device: ast.expr, value: tuple[int, int]
) -> Move:
    """Deletes the whole call, or of `x.to(device, torch.float16)` the device alone."""
    others = [argument for argument in _arguments(call) if argument is not device]
    if not others or all(isinstance(other, ast.Constant) for other in others):
        return _move(call, text, parents, value[1], text.span(call)[1], b"", value)
    kept = ", ".join(_with_keyword(call, other, text) for other in others)
    return _move(call, text, parents, value[1], text.span(call)[1], f".to({kept})".encode(), value)


def _with_keyword(call: ast.Call, argument: ast.expr, text: _Text) -> str:
    for keyword in call.keywords:
        if keyword.value is argument and keyword.arg:
            return f"{keyword.arg}={text.of(argument)}"
    return text.of(argument)


def _arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def _is_value(node: ast.expr) -> bool:
    """Whether the receiver is a value and not the module in `torch.cuda(...)`."""
    return not (isinstance(node, ast.Name) and node.id == "torch")


def _move(
    call: ast.Call,
    text: _Text,
    parents: dict[ast.AST, ast.AST],
    start: int,
    end: int,
    replacement: bytes,
    value: tuple[int, int] | None,
) -> Move:
    return Move(
        line=text.source.count(b"\n", 0, start) + 1,
        text=text.of(call),
        start=start,
        end=end,
        replacement=replacement,
        names=_names(call, parents),
        whole=text.span(call),
        value=value,
        lines=range(call.lineno, (call.end_lineno or call.lineno) + 1),
    )


def _names(call: ast.Call, parents: dict[ast.AST, ast.AST]) -> tuple[str, ...]:
    """What the value is called after the statement, by its last name (`batch` of `self.batch`)."""
    node: ast.AST = call
    while not isinstance(node, ast.stmt):
        parent = parents[node]
        if isinstance(parent, ast.Assign) and isinstance(parent.value, ast.Tuple) and node in parent.value.elts:
            index = parent.value.elts.index(node)  # type: ignore[arg-type]
            targets = [target for target in parent.targets if isinstance(target, ast.Tuple)]
            return tuple(_last_name(target.elts[index]) for target in targets)
        node = parent
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [
        _last_name(each) for target in targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])
    ]
    if names:
        return tuple(names)
    return (_last_name(call.func.value),) if isinstance(call.func, ast.Attribute) else ()


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return _last_name(node.value)
    return _last_name(node.func) if isinstance(node, ast.Call) else ""
