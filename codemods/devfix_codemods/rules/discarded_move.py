"""The result of moving a tensor is thrown away.

## What it does

Finds `x.to(device)` and `x.cuda()` as statements of their own where `x` is a tensor, and assigns the result. So it does
for `x.type_as(y)`, which only tensors have.

## Why it fails

`Tensor.to` returns a copy; only modules are moved in place. The tensor stays on the host, "although I did call
`.to(device)`":

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!

## Before

    mask.to(device)

## After

    mask = mask.to(device)

## Fix safety

Safe for moves to a device. Unsafe for `type_as`, where only another function says that the parameter is a tensor, for
the entries of a mapping that a model is given, for moves to the host, where the tensor is also turned into a numpy
array (which needs the host), and beside another discarded move of something that may be no tensor. A tensor that
requires grad gets advice only: its moved copy is no leaf. So do the parameters and buffers that a loop goes over:
another name for the loop variable moves none of them; the weight or the bias of another layer that a module keeps,
which takes no plain tensor in its place; and a name of the module, which an assignment in a function would hide; what
Lightning has placed already; and what goes to a module that the function builds and leaves on the host.
Modules, encodings, and values whose kind is not certain are left alone: their `.to` may work in place. So are moves of
what is on that device already, and moves that are the point themselves: in the body of a `try`, or of a value that is
never read again, as a loop variable is not once its loop goes on.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import ReplaceStatement
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Move
from devfix_codemods.flow.places import HOST, UNKNOWN, Relation, relation
from devfix_codemods.flow.tables import PARAMETER_CLASSES
from devfix_codemods.flow.values import Kind
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._asked_types import is_affirmed
from devfix_codemods.rules._looks import discards_move
from devfix_codemods.rules._moved_entries import is_entry_of_inputs, items_of, loop_around
from devfix_codemods.rules._moves import text_of, within
from devfix_codemods.rules._needless_moves import is_placed_already, module_on_host


def check(program: Program) -> Iterator[Finding]:
    yield from _conversions(program)
    if not program.outline.discards_moves:
        return
    for move in program.facts.moves:
        if move.result_used or move.target == UNKNOWN or not _is_tensor(program, move) or _is_there(program, move):
            continue
        if _is_trial(program, move) or _is_made_again(program, move):
            continue
        if _target(program, move) is not None and _read_later(program, move):
            yield _finding(program, move)


def _conversions(program: Program) -> Iterator[Finding]:
    """`x.type_as(y)` as a statement, which only tensors have."""
    for call in program.names.calls:
        statement = program.names.parent(call)
        is_bare = isinstance(call.func, ast.Attribute) and call.func.attr == "type_as" and len(call.args) == 1
        if not is_bare or call.keywords or not isinstance(statement, ast.Expr):
            continue
        assert isinstance(call.func, ast.Attribute)
        name = dotted(call.func.value)
        if name is not None and not _in_try(program, call):
            span = program.source.span(call)
            edit = ReplaceStatement(program.source.span(statement), f"{name} = {program.source.segment(span)}")
            message = f"`{name}.type_as(…)` returns a converted copy that is thrown away: `{name}` stays as it is"
            fix = Fix(Safety.UNSAFE, f"Assign the converted tensor to `{name}`", (edit,))
            yield Finding(RULE.code, RULE.name, message, span, fix=fix)


def _in_try(program: Program, node: ast.AST) -> bool:
    return any(isinstance(one, ast.Try) for one in program.names.ancestors(node))


def _looks(data: bytes) -> bool:
    return b".type_as(" in data or discards_move(data)


def _is_there(program: Program, move: Move) -> bool:
    """Whether the function itself made the value on the device to which it is moved: nothing is lost with the copy."""
    function, name = scope.function_around(program, move.node), dotted(move.receiver)
    if name is None or (function is not None and name not in scope.stored(function)):
        return False  # one caller does not speak for all
    target = program.facts.shared(move.target)
    return target != HOST and relation(program.facts.shared(move.before), target) is Relation.SAME


def _is_trial(program: Program, move: Move) -> bool:
    """A move that is made to see whether it fails: the body of a `try`, `with pytest.raises(…)`."""
    for around in program.names.ancestors(move.node):
        if isinstance(around, ast.Try) and any(within(program, move.node, one) for one in around.body):
            return True
        if isinstance(around, ast.With) and any("aises" in ast.unparse(one.context_expr) for one in around.items):
            return True
        if isinstance(around, scope.Function):
            return False
    return False


def _is_made_again(program: Program, move: Move) -> bool:
    """Whether the next thing done with the value is the same move, which is kept: the first one is a rehearsal."""
    around, name = move.context.function or program.tree, dotted(move.receiver)
    after = [
        node
        for node in ast.walk(around)
        if isinstance(node, ast.Name | ast.Attribute)
        and dotted(node) == name
        and (node.lineno, node.col_offset) > (move.node.lineno, move.node.col_offset)
    ]
    if not after:
        return False
    taken = program.names.parent(min(after, key=lambda node: (node.lineno, node.col_offset)))
    again = program.names.parent(taken) if taken is not None else None
    if not isinstance(again, ast.Call) or isinstance(program.names.parent(again), ast.Expr):
        return False
    return ast.dump(again) == ast.dump(move.node)


def _read_later(program: Program, move: Move) -> bool:
    """Whether the value is read after the move, or in the next round of a loop: else the move itself was the point."""
    name = dotted(move.receiver if not isinstance(move.receiver, ast.Subscript) else move.receiver.value)
    if name is None or "." in name:
        return True
    item = isinstance(move.receiver, ast.Name) and _item_target(program, move, name)
    loop = _loop_over(program, move)
    around = loop or move.context.function or program.tree
    looped = any(
        isinstance(one, (ast.For, ast.While)) and one is not loop and within(program, one, around)
        for one in program.names.ancestors(move.node)
    )
    return bool(item or _owner(loop)) or any(
        isinstance(node, ast.Name)
        and node.id == name
        and isinstance(node.ctx, ast.Load)
        and (
            (node.lineno, node.col_offset) > (move.node.lineno, move.node.col_offset)
            or (looped and not within(program, node, move.node))
        )
        for node in ast.walk(around)
    )


def _loop_over(program: Program, move: Move) -> ast.For | None:
    """The loop whose variable is moved: it is bound anew in each round."""
    name = move.receiver.id if isinstance(move.receiver, ast.Name) else None
    for around in program.names.ancestors(move.node):
        if isinstance(around, scope.Function):
            break
        if isinstance(around, ast.For) and name in set(scope.stored(around.target)):
            return around
    return None


def _owner(loop: ast.For | None) -> str | None:
    """The module whose parameters or buffers a loop goes over."""
    match loop:
        case ast.For(iter=ast.Call(func=ast.Attribute(value=owner, attr=attr))) if attr.removeprefix("named_") in _HELD:
            return dotted(owner)
    return None


_HELD = frozenset({"parameters", "buffers"})


def _is_tensor(program: Program, move: Move) -> bool:
    if _is_tensor_here(program, move) or _is_tensor_elsewhere(program, move):
        return True
    return move.value.kind is Kind.UNKNOWN and is_entry_of_inputs(program, move)


def _is_tensor_here(program: Program, move: Move) -> bool:
    """By its birth, or because an operation of torch uses the same value as a tensor."""
    if move.value.kind is Kind.TENSOR:
        return True
    if move.value.kind is not Kind.UNKNOWN:
        return False
    if is_affirmed(program, move.receiver):
        return True
    name = dotted(move.receiver)
    evidence = program.facts.evidence[move.context.function or program.tree]
    used = evidence.numpy if move.value.batch is None else evidence.tensors | evidence.numpy
    if name in evidence.modules | evidence.called:
        return False
    if move.value.identity in program.facts.tensors or name in used or _meets(program, move):
        return True
    return move.value.batch is None and _is_operand(move.context.function or program.tree, move.receiver)


def _is_tensor_elsewhere(program: Program, move: Move) -> bool:
    """Whether another function of the file has a parameter of this name, and uses it as a tensor.

    So for a parameter without annotation, that no function uses as anything else.
    """
    own, name = move.context.function, dotted(move.receiver)
    open_kind = move.value.kind is Kind.UNKNOWN and move.value.batch is None
    if not open_kind or own is None or name is None or not _takes(own, name):
        return False
    known = {
        one: found
        for one, found in program.facts.evidence.items()
        if isinstance(one, scope.Function) and name in scope.parameters(one)
    }
    if any(name in found.modules | found.called | found.plain | found.texts for found in known.values()):
        return False
    return any(name in found.surely or _is_shaped(one, name) for one, found in known.items() if one is not own)


def _is_shaped(function: scope.Function, name: str) -> bool:
    """Whether a method of arrays is called on `name`. Of these, tensors alone are moved."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in _OF_ARRAYS and dotted(node.value) == name
        for node in ast.walk(function)
    )


_OF_ARRAYS = frozenset({"flatten", "reshape", "squeeze", "transpose", "argmax"})


def _takes(function: scope.Function, name: str) -> bool:
    return any(one.arg == name and one.annotation is None for one in (*function.args.posonlyargs, *function.args.args))


def _is_operand(around: ast.AST, receiver: ast.expr) -> bool:
    """Whether the moved name takes part in arithmetic: neither modules nor mappings do."""
    if not isinstance(receiver, ast.Name):
        return False
    return any(
        isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult))
        and any(isinstance(one, ast.Name) and one.id == receiver.id for one in (node.left, node.right))
        for node in ast.walk(around)
    )


def _meets(program: Program, move: Move) -> bool:
    """Whether the same batch element, still on the host, is seen to meet a moved value in a loss or in arithmetic."""
    batch = move.value.batch
    if batch is None:
        return False
    any_item = isinstance(move.receiver, ast.Name) and _item_target(program, move, move.receiver.id) is not None
    for one in program.facts.meetings:
        value = one.misplaced.value
        if value.batch is None or value.batch.token != batch.token:
            continue
        if any_item or (value.batch == batch and (bool(batch.path) or value.kind is Kind.TENSOR)):
            return True
    return False


def _finding(program: Program, move: Move) -> Finding:
    name = text_of(program, move.receiver)
    origin = move.value.origin
    trail = [Step(program.source.span(move.node), f"the moved copy of `{name}` is thrown away here")]
    if origin is not None and hasattr(origin.node, "lineno") and not isinstance(origin.node, (ast.For, ast.AsyncFor)):
        trail.insert(0, Step(program.source.span(origin.node), f"`{name}` is a tensor, made here"))
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{name}.{move.method}(…)` returns a moved copy that is thrown away: `{name}` stays where it is",
        span=program.source.span(move.node),
        trail=tuple(trail),
        fix=_fix(program, move, name),
        advice=_advice(program, move, name),
    )


def _advice(program: Program, move: Move, name: str) -> str:
    if is_placed_already(program, move):
        return f"delete the line: `{name}` is on the device of the module already"
    if (module := module_on_host(program, move)) is not None and move.target != HOST:
        return f"move `{module}` as well and assign the result to `{name}`, or delete the line"
    if _is_leaf(program, move, name):
        return f"make `{name}` on the device where it is created: a moved copy is no leaf and gets no gradient"
    if _may_be_parameter(program, move):
        return f"assign the result to `{name}.data`: in the place of a parameter a module takes no other tensor"
    if (owner := _owner(_loop_over(program, move))) is not None:
        return f"assign the result to `{name}.data`, or move `{owner}`, which holds it"
    if (target := _target(program, move)) is not None and _is_of_another_scope(program, move, target):
        return f"read `{text_of(program, move.node)}` instead: an assignment would make `{name}` a local name"
    return f"assign the result to `{name}`"


def _fix(program: Program, move: Move, name: str) -> Fix | None:
    statement = program.names.statement(move.node)
    target = _target(program, move)
    if not isinstance(statement, ast.Expr) or target is None:
        return None
    if _is_leaf(program, move, name) or _may_be_parameter(program, move):
        return None
    if is_placed_already(program, move) or (move.target != HOST and module_on_host(program, move) is not None):
        return None
    if _owner(_loop_over(program, move)) is not None or _is_of_another_scope(program, move, target):
        return None
    code = f"{target} = {program.source.segment(program.source.span(move.node))}"
    edit = ReplaceStatement(program.source.span(statement), code)
    return Fix(_safety(program, move, name), f"Assign the moved tensor to `{target}`", (edit,))


def _is_of_another_scope(program: Program, move: Move, target: str) -> bool:
    """Whether an assignment would make a local of a name that the function only reads: it would be unbound above."""
    function = scope.function_around(program, move.node)
    if function is None or not target.isidentifier() or target in _declared_outer(function):
        return False
    bindings = program.bindings
    return bindings.owner(target, move.node) is not bindings.scope(move.node)


def _declared_outer(function: scope.Function) -> set[str]:
    kinds = (ast.Global, ast.Nonlocal)
    return {name for one in ast.walk(function) if isinstance(one, kinds) for name in one.names}


def _is_leaf(program: Program, move: Move, name: str) -> bool:
    """A tensor that is optimized itself: its moved copy is no leaf, and gets no gradient."""
    around = move.context.owner or move.context.function or program.tree
    if move.value.qualified in PARAMETER_CLASSES:
        return True
    for node in ast.walk(around):
        if isinstance(node, ast.Assign) and any(dotted(one) == name for one in node.targets):
            keywords = {one.arg for one in ast.walk(node.value) if isinstance(one, ast.keyword)}
        elif isinstance(node, ast.Attribute) and dotted(node.value) == name:
            keywords = {node.attr.rstrip("_")}
        else:
            continue
        if "requires_grad" in keywords:
            return True
    return False


def _may_be_parameter(program: Program, move: Move) -> bool:
    """`self.bias` of a module, which was given it: of another layer it is a parameter, registered as such."""
    name, owner = dotted(move.receiver) or "", move.context.owner
    if owner is None or _OF_LAYERS.match(name) is None or not program.unit.classes.is_module(owner):
        return False
    values = [one.value for one in program.bindings.of_class(owner, name)]
    return any(isinstance(one, ast.Name | ast.Attribute) for one in values)


_OF_LAYERS = re.compile(r"self\.(?:\w+_)?(?:weight|bias)$")


def _is_alone(program: Program, move: Move) -> bool:
    """Whether each discarded move beside this one, to the same place, is repaired too: else a pair may be split."""
    statement = program.names.statement(move.node)
    wanted = [ast.dump(one) for one in move.node.args]
    for other in program.facts.moves:
        beside = program.names.statement(other.node)
        same_block = program.names.parent(beside) is program.names.parent(statement)
        if other.result_used or not same_block or [ast.dump(one) for one in other.node.args] != wanted:
            continue
        if other.value.kind is Kind.UNKNOWN and not _is_tensor(program, other):
            return False
    return True


def _safety(program: Program, move: Move, name: str) -> Safety:
    """A tensor that becomes an array must be on the host: that asks for a move there, and forbids one away."""
    to_numpy = name in program.facts.evidence[move.context.function or program.tree].numpy
    certain = to_numpy == (move.target == HOST) and _is_alone(program, move)
    return Safety.SAFE if certain and _is_tensor_here(program, move) else Safety.UNSAFE


def _target(program: Program, move: Move) -> str | None:
    """What the result is assigned to: the receiver; for the value of a loop over `d.items()`, the item of `d`."""
    receiver = move.receiver
    if isinstance(receiver, ast.Name):
        return _item_target(program, move, receiver.id) or receiver.id
    if isinstance(receiver, ast.Subscript) and isinstance(receiver.slice, (ast.Constant, ast.Name)):
        return text_of(program, receiver) if dotted(receiver.value) else None
    return dotted(receiver)


def _item_target(program: Program, move: Move, name: str) -> str | None:
    loop = loop_around(program, move.node)
    items = items_of(loop) if loop is not None else None
    if items is None or items[1] != name:
        return None
    owner = dotted(items[2])
    return f"{owner}[{items[0]}]" if owner else None


RULE = Rule("DVF103", "discarded-move", ((b".to(",), (b".cuda(",), (b".cpu(",), (b".type_as(",)), check, looks=_looks)
