"""Optimizers and the moves of their models: which comes first, and what holds state by then."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._wrappers import Models

_MOVES = frozenset({"to", "cuda"})
_HARMLESS = frozenset({"parameters", "named_parameters", "load_state_dict", "state_dict", "train", "eval", *_MOVES})
"""What may be asked of a model between the old place of its move and the new one."""
_EAGER = frozenset({"torch.optim.Adagrad", "torch.optim.adagrad.Adagrad"})
"""Optimizers that make state in their constructor. Source: torch/optim of torch 2.13."""


@dataclass(frozen=True, slots=True)
class Early:
    """An optimizer `built` before the `move` of its model, which has state by the statement `state`.

    `certain` says that the optimizer is one of torch, on a model that is on the host; `movable` that the move means the
    same before the optimizer is built.
    """

    model: str
    built: ast.stmt
    state: ast.stmt
    move: ast.stmt
    why: str
    certain: bool
    movable: bool


@dataclass(frozen=True, slots=True)
class TakenAway:
    """`model.cpu().state_dict()` in a loop that uses the model again; `moved` is the move before the loop."""

    model: str
    call: ast.Call
    moved: ast.Call


def early_optimizers(program: Program) -> Iterator[Early]:
    """Optimizers with state whose model is moved afterwards, in the same block."""
    models = Models(program)
    for call in program.names.calls:
        statement = program.names.statement(call)
        if not isinstance(statement, ast.Assign):
            continue
        model = _configured_model(call) or _optimized_model(program, call)
        move = _move_after(program, statement, model) if model is not None else None
        if model is None or move is None or _moves_state(program, statement):
            continue
        if _configured_model(call) is not None:
            if not any(models.moves(model, statement)):
                yield _early(program, (model, statement, statement, move), "may have state", certain=False)
        elif models.is_on_host(_expression(model), statement):
            yield from _with_state(program, call, (model, statement, move))


def _with_state(program: Program, call: ast.Call, found: tuple[str, ast.Assign, ast.stmt]) -> Iterator[Early]:
    model, statement, move = found
    if program.names.qualified(call.func) in _EAGER:
        yield _early(program, (model, statement, statement, move), "makes its state", certain=True)
        return
    names = {dotted(target) for target in statement.targets}
    for one in program.names.calls:
        if not isinstance(one.func, ast.Attribute) or one.func.attr != "load_state_dict":
            continue
        loads = program.names.statement(one)
        here = scope.function_around(program, loads) is scope.function_around(program, statement)
        between = statement.lineno < loads.lineno < move.lineno
        if here and between and dotted(one.func.value) in names:
            yield _early(program, (model, statement, loads, move), "gets its state", certain=True)
            return


def _early(program: Program, found: tuple[str, ast.stmt, ast.stmt, ast.stmt], why: str, *, certain: bool) -> Early:
    model, built, state, move = found
    return Early(model, built, state, move, why, certain, _means_the_same(program, model, built, move))


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _configured_model(call: ast.Call) -> str | None:
    """The model of `model.configure_optimizers()`."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == "configure_optimizers" and not call.args:
        name = dotted(call.func.value)
        return None if name in {"self", None} else name
    return None


def _optimized_model(program: Program, call: ast.Call) -> str | None:
    """The one model whose parameters an optimizer of torch is given."""
    name = program.names.qualified(call.func) or ""
    if not name.startswith("torch.optim.") or not name.rpartition(".")[2][:1].isupper():
        return None
    found = {
        dotted(one.func.value)
        for one in ast.walk(call)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "parameters"
    }
    return found.pop() if len(found) == 1 else None


def _move_after(program: Program, statement: ast.stmt, model: str) -> ast.stmt | None:
    """`model.to(device)` or `model = model.to(device)` further down in the block."""
    block = scope.block_of(program, statement)
    for one in block[block.index(statement) + 1 :]:
        value = one.value if isinstance(one, (ast.Expr, ast.Assign)) else None
        targets = [dotted(target) for target in one.targets] if isinstance(one, ast.Assign) else []
        is_move = (
            isinstance(value, ast.Call)
            and isinstance(value.func, ast.Attribute)
            and value.func.attr in _MOVES
            and dotted(value.func.value) == model
        )
        if is_move and targets in ([], [model]):
            return one if _is_to_a_device(value) else None
        if model in targets:
            return None
    return None


def _is_to_a_device(value: ast.expr | None) -> bool:
    """Not `.to(dtype)`, nor back to the host."""
    if not isinstance(value, ast.Call):
        return False
    text = " ".join(ast.unparse(one) for one in value.args)
    return not any(word in text for word in ("dtype", "float", "half", "'cpu'"))


def _moves_state(program: Program, statement: ast.stmt) -> bool:
    """Whether the function moves the state by itself: `for state in optimizer.state.values(): …`."""
    function = scope.function_around(program, statement) or program.tree
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in {"values", "items"}
        and isinstance(one.value, ast.Attribute)
        and one.value.attr == "state"
        for one in ast.walk(function)
    )


def _means_the_same(program: Program, model: str, built: ast.stmt, move: ast.stmt) -> bool:
    """Whether the names of the move are bound before the optimizer, and nothing between uses the model otherwise."""
    bound = scope.bound_at(program, built)
    if not set(scope.reads(move)) <= bound | {"torch"}:
        return False
    block = scope.block_of(program, built)
    between = block[block.index(built) : block.index(move)]
    given = {text for one in ast.walk(move) if isinstance(one, ast.Attribute) and (text := dotted(one)) is not None}
    for statement in between:
        for node in ast.walk(statement):
            if not isinstance(node, (ast.Name, ast.Attribute)):
                continue
            text = dotted(node)
            if isinstance(node.ctx, ast.Store) and (text in given or text in set(scope.reads(move))):
                return False
            if text == model and not _is_harmless(program, node):
                return False
    return True


def _is_harmless(program: Program, node: ast.expr) -> bool:
    parent = program.names.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in {*_HARMLESS, "configure_optimizers"}


def taken_away(program: Program) -> Iterator[TakenAway]:
    """`torch.save(model.cpu().state_dict(), …)` in a loop, for a model that was moved before and not in it."""
    for call in program.names.calls:
        model = _taken_model(call)
        loop = next((one for one in program.names.ancestors(call) if isinstance(one, (ast.For, ast.While))), None)
        if model is None or loop is None or not _is_saved(program, call):
            continue
        moves = [one for one in program.names.calls if _moves_model(one, model)]
        again = [one for one in moves if any(around is loop for around in program.names.ancestors(one))]
        before = [one for one in moves if one.lineno < loop.lineno]
        used = any(isinstance(one, ast.Call) and dotted(one.func) == model for one in ast.walk(loop))
        if before and not again and used and not _ends_after(program, call, loop):
            yield TakenAway(model, call, before[-1])


def _taken_model(call: ast.Call) -> str | None:
    """The model of `model.cpu().state_dict()`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "state_dict" or call.args or call.keywords:
        return None
    inner = call.func.value
    if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute) and inner.func.attr == "cpu":
        return dotted(inner.func.value)
    return None


def _is_saved(program: Program, call: ast.Call) -> bool:
    return any(
        isinstance(one, ast.Call) and program.names.qualified(one.func) == "torch.save"
        for one in program.names.ancestors(call)
    )


def _moves_model(call: ast.Call, model: str) -> bool:
    function = call.func
    return isinstance(function, ast.Attribute) and function.attr in _MOVES and dotted(function.value) == model


def _ends_after(program: Program, call: ast.Call, loop: ast.AST) -> bool:
    """Whether the loop ends with the save: a `break` or `return` follows in its block."""
    for around in (program.names.statement(call), *program.names.ancestors(program.names.statement(call))):
        if around is loop:
            return False
        if isinstance(around, ast.stmt) and any(
            isinstance(one, (ast.Break, ast.Return, ast.Raise)) for one in scope.block_of(program, around)
        ):
            return True
    return False


def stored_copies(program: Program) -> Iterator[ast.Assign]:
    """`parent[key] = value.cpu()` on what a hook for checkpoints is given, in classes that have one."""
    for owner in program.names.classes:
        methods = [one for one in owner.body if isinstance(one, scope.Function)]
        if not any(one.name == "on_save_checkpoint" for one in methods):
            continue
        for method in methods:
            given = set(scope.parameters(method))
            for node in ast.walk(method):
                if isinstance(node, ast.Assign) and _stores_copy(node, given):
                    yield node


def _stores_copy(node: ast.Assign, given: set[str]) -> bool:
    target, value = node.targets[0], node.value
    return (
        isinstance(target, ast.Subscript)
        and isinstance(target.value, ast.Name)
        and target.value.id in given
        and isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "cpu"
        and isinstance(value.func.value, ast.Name)
        and value.func.value.id in given
    )
