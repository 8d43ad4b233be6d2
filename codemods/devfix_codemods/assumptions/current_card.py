"""Where code takes the current card, or the first one, though another is meant."""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.catalogue import MAKES, Kind, canonical, effect
from devfix_codemods.edits.operations import Argument, Edit, ReplaceExpression, RewriteCall
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, name
from devfix_codemods.placement.arguments import keyword

_ONE_CARD = (b"set_device(", b"DTensor", b"device_mesh", b"DeviceMesh")
"""What makes the current card that of the process."""
_STREAMS = ("torch.cuda.Stream", "torch.cuda.current_stream", "torch.cuda.default_stream")


def types_as_devices(index: Index) -> Iterator[Answer]:
    """`x.to(y.device.type)`, and `device = y.device.type` which is only given as a device: any card of that type."""
    if b"device.type" not in index.source.data or any(one in index.source.data for one in _ONE_CARD):
        return
    for call in index.calls:
        for written, device in _given(call):
            if written is device.syntax and _is_type(index, device) and _is_place(call, device):
                text = index.text(written.value)  # type: ignore[attr-defined]
                edit = ReplaceExpression(index.source.span(written), text)
                yield Answer(written, _NO_CARD.format(text), Fix(Safety.UNSAFE, f"Give `{text}` itself", (edit,)))
    for node in list(index.nodes.values()):
        if not _is_type(index, node) or isinstance(index.parents.get(node.syntax), ast.Call | ast.keyword):  # type: ignore[arg-type]
            continue
        uses = list(_uses(index, node, set()))
        if uses and None not in uses and isinstance(node.syntax, ast.Attribute):
            text = index.text(node.syntax.value)
            edit = ReplaceExpression(index.source.span(node.syntax), text if all(uses) else f"str({text})")
            yield Answer(
                node.syntax, _NO_CARD.format(text), Fix(Safety.UNSAFE, f"Keep the number of `{text}`", (edit,))
            )


_NO_CARD = "the type of `{0}` names no card: this is the current one, whatever that of `{0}` is"


def _is_type(index: Index, node: Node) -> bool:
    """`x.device.type`"""
    plain = node.op is Op.ATTR and node.extra == "type" and isinstance(node.syntax, ast.Attribute)
    return plain and _is_device(index, node.args[0])


def _given(call: Node) -> Iterator[tuple[ast.expr, Node]]:
    syntax = call.syntax
    assert isinstance(syntax, ast.Call)
    yield from zip((*syntax.args, *(one.value for one in syntax.keywords)), call.args[1:])


def _is_place(call: Node, device: Node) -> bool:
    """Whether torch gets it as the device of a move, or of what is made."""
    moves = method(call) == "to"
    made = canonical(name(call.args[0]) or "")
    makes = effect(made) in MAKES or made == "torch.Generator"
    return (moves and call.args[1] is device) or (keyword(call, "device") is device and (moves or makes))


def _is_device(index: Index, node: Node) -> bool:
    return (node.op is Op.ATTR and node.extra == "device") or index.analysis.kinds.says_surely(node, Kind.DEVICE)


def _uses(index: Index, device: Node, seen: set[Node]) -> Iterator[bool | None]:
    """For each use whether torch gets it as a device, or some function does; None for another use."""
    seen.add(device)
    for user in index.users[device]:
        if user.op is Op.PHI:
            if user not in seen:
                yield from _uses(index, user, seen)
        elif user.op is not Op.CALL:
            yield None
        elif keyword(user, "device") is device or (method(user) == "to" and user.args[1] is device):
            yield _is_place(user, device)
        else:
            yield None
    if index.stores[device] or index.returned[device]:
        yield None


def first_cards(index: Index) -> Iterator[Answer]:
    """`torch.device("cuda", device or 0)` in a method `cuda(device=None)`: None is the current card there."""
    for call in index.calls:
        function = call.function
        if function.name != "cuda" or not called(call, "torch.device") or len(call.args) != 3:
            continue
        index_node = call.args[2].syntax
        match index_node:
            case ast.BoolOp(op=ast.Or(), values=[ast.Name(id=text), ast.Constant(value=0)]) if (
                text in function.parameters and call.args[1].extra == "cuda"
            ):
                code = f"torch.cuda.current_device() if {text} is None else {text}"
                edit = ReplaceExpression(index.source.span(index_node), code)
                fix = Fix(Safety.UNSAFE, "Take the current card where none is given", (edit,))
                message = f"without `{text}` this is card 0, where `cuda()` of torch takes the current one"
                assert isinstance(call.syntax, ast.Call)
                yield Answer(call.syntax, message, fix)


def other_streams(index: Index) -> Iterator[Answer]:
    """Streams that are made where CUDA was seen, in a method that moves values to `self.device`."""
    if b"cuda.Stream()" not in index.source.data:
        return
    births = index.analysis.births
    for made in index.calls:
        if not called(made, "torch.cuda.Stream") or len(made.args) > 1 or not _is_seen(made):
            continue
        calls = [one for one in made.function.nodes if one.op is Op.CALL]
        places = [births.place_given(one) for one in calls if method(one) == "to"]
        if not any(one is not None and one.node is not None and _text(one.node) == "self.device" for one in places):
            continue
        device = (Argument("self.device", "device"),)
        found = [one.syntax for one in calls if len(one.args) == 1 and called(one, *_STREAMS)]
        edits = tuple(RewriteCall(index.source.span(one), None, device) for one in found if isinstance(one, ast.Call))
        message = "this stream is of the current card, which need not be that of `self.device`"
        assert isinstance(made.syntax, ast.Call)
        yield Answer(made.syntax, message, Fix(Safety.UNSAFE, "Take streams of `self.device`", edits))


def _is_seen(made: Node) -> bool:
    """Whether the object is seen to be on CUDA: on the host, a stream for its device could not be made."""
    itself = made.function.self_node
    if itself is None:
        return False
    own = key(itself)
    of_cuda = {
        (("attr", own, "is_cuda"), True),
        (("compare", "Eq", ("attr", ("attr", own, "device"), "type"), ("const", "'cuda'")), True),
    }
    return not of_cuda.isdisjoint(made.guard)


def _text(node: Node) -> str:
    return ast.unparse(node.syntax) if isinstance(node.syntax, ast.expr) else ""


def types_of_others(index: Index) -> Iterator[Answer]:
    """`x.type(y.type())`, by the name of a type, which only CUDA and the host have, and which names no card."""
    for call in index.calls:
        if (
            method(call) != "type"
            or len(call.args) != 2
            or method(call.args[1]) != "type"
            or len(call.args[1].args) > 1
        ):
            continue
        followed, moved = call.args[1].args[0].args[0], call.args[0].args[0]
        if not isinstance(followed.syntax, ast.Name | ast.Attribute | ast.arg) or _is_module(index, moved):
            continue
        syntax = call.syntax
        assert isinstance(syntax, ast.Call)
        written = syntax.args[0] if syntax.args else None
        if not isinstance(written, ast.Call) or not isinstance(written.func, ast.Attribute):
            continue
        text = index.text(written.func.value)
        edit = _one_move(index, call, syntax, moved, text)
        if edit is not None:
            message = f"the type of `{text}` has a name on the host and on CUDA only, and names no card"
            yield Answer(syntax, message, Fix(Safety.SAFE, f"Follow `{text}`", (edit,)))


def _is_module(index: Index, node: Node) -> bool:
    """Whether a value is used as a module: these cast more by `.type` than by `.to`."""
    used = {one.extra for one in index.users[node] if one.op is Op.ATTR}
    return index.analysis.kinds.is_module(node) or not used.isdisjoint({"eval", "train", "parameters"})


def _one_move(index: Index, call: Node, syntax: ast.Call, moved: Node, text: str) -> Edit | None:
    """The edit that leaves one move of the value; None where each of several may have a purpose."""
    assert isinstance(syntax.func, ast.Attribute)
    before, after = moved if _moves(index, moved) else None, _next_move(index, call)
    if before is not None and after is not None:
        return None
    if after is not None and _follows(index, after, text, ("get_device()",)):
        value = index.text(syntax.func.value)
        return ReplaceExpression(index.source.span(after.syntax), f"{value}.to({text})")  # type: ignore[arg-type]
    if after is not None:
        return RewriteCall(index.source.span(syntax), None, (Argument(f"{text}.dtype"),), "to")
    if before is None:
        return RewriteCall(index.source.span(syntax), None, (Argument(text),), "to")
    inner = before.syntax
    if not _follows(index, before, text, ("get_device()", "device")) or not isinstance(inner, ast.Call):
        return None
    assert isinstance(inner.func, ast.Attribute)
    return ReplaceExpression(index.source.span(syntax), f"{index.text(inner.func.value)}.to({text})")


def _moves(index: Index, node: Node) -> bool:
    """`x.cuda(…)`, `x.to(…)` and its like, but for what is given a dtype alone."""
    kinds = index.analysis.kinds
    casts = len(node.args) > 1 and all(kinds.of(one) is Kind.DTYPE or "dtype" in _text(one) for one in node.args[1:])
    return method(node) in {"cuda", "to"} and not casts


def _next_move(index: Index, call: Node) -> Node | None:
    """The move that follows at once."""
    assert call.syntax is not None
    outer = index.parents.get(index.parents.get(call.syntax, call.syntax))
    node = index.nodes.get(outer) if outer is not None else None
    at_once = node is not None and method(node) is not None and node.args[0].args[0] is call
    return node if node is not None and at_once and _moves(index, node) else None


def _follows(index: Index, move: Node, text: str, devices: tuple[str, ...]) -> bool:
    """Whether a move is told nothing but the device of what the type follows."""
    return [_text(one) for one in move.args[1:]] in [[f"{text}.{one}"] for one in devices]
