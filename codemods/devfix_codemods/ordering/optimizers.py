"""Optimizers and the moves of their models: which comes first, and what holds state by then."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.ordering.models import Models, block_of, call_of
from devfix_codemods.repairs.late_moves import means_the_same, move_after

_EAGER = ("torch.optim.Adagrad", "torch.optim.adagrad.Adagrad")
"""Optimizers that make state in their constructor. Source: torch/optim of torch 2.13."""
_MOST_PARTS = 60


@dataclass(frozen=True, slots=True)
class Early:
    """An optimizer `built` before the `move` of its model, which has state by the statement `state`.

    `moving` is the move, or the `if` that does nothing else. `certain` says that the optimizer is one of torch, on a
    model that is on the host; `movable` that the move means the same before the optimizer is built.
    """

    model: str
    built: ast.stmt
    state: ast.stmt
    move: ast.stmt
    moving: ast.stmt
    why: str
    certain: bool
    movable: bool


@dataclass(frozen=True, slots=True)
class TakenAway:
    """`model.cpu().state_dict()` in a loop that uses the model again; `moved` is the move before the loop."""

    model: str
    call: Node
    moved: Node


class Optimizers:
    """The optimizers of one file."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._models = Models(index)
        self._births = index.analysis.births

    # State before the move

    def early(self) -> Iterator[Early]:
        """Optimizers with state whose model is moved afterwards, in the same block."""
        for call in self._index.calls:
            model = _configured(call) or self._optimized(call)
            if model is None or not isinstance(call.statement, ast.Assign) or self._touches_state(call):
                continue
            late = move_after(self._births, call, model, call.statement)
            if late is None:
                continue
            move, moving = late.move, late.statement
            state = self._state(call, model, move)
            if state is not None and state.statement is not None and move.statement is not None:
                certain = method(call) != "configure_optimizers"
                why = "may have state" if not certain else "makes its state" if state is call else "gets its state"
                movable = means_the_same(call, model, late, call.statement)
                text = self._text(move)
                yield Early(text, call.statement, state.statement, move.statement, moving, why, certain, movable)

    def _text(self, call: Node) -> str:
        """The receiver of a method, as the file spells it."""
        assert isinstance(call.syntax, ast.Call)
        assert isinstance(call.syntax.func, ast.Attribute)
        return self._index.text(call.syntax.func.value)

    def _optimized(self, call: Node) -> Node | None:
        """The one model whose parameters an optimizer of torch is given."""
        qualified = name(call.args[0]) or ""
        if not qualified.startswith("torch.optim.") or not qualified.rpartition(".")[2][:1].isupper():
            return None
        found: set[Node] = set()
        pending = list(call.args[1:])
        for one in pending:  # grows by the parts of each
            if method(one) == "parameters":
                found.add(one.args[0].args[0])
            elif len(pending) < _MOST_PARTS:
                pending += one.args
        return found.pop() if len(found) == 1 else None

    def _state(self, call: Node, model: Node, move: Node) -> Node | None:
        """What gives an optimizer its state before the move."""
        if method(call) == "configure_optimizers":
            return None if self._models.is_moved(model, call) else call
        if not self._models.is_on_host(model, call):
            return None
        if called(call, *_EAGER):
            return call
        loads = (one for one in call.function.nodes if method(one) == "load_state_dict" and one.index < move.index)
        return next((one for one in loads if call in self._births.way(one.args[0].args[0])), None)

    def _touches_state(self, call: Node) -> bool:
        """Whether the program moves the state by itself: `for state in optimizer.state.values(): …`."""
        return any(
            one.op is Op.ATTR and one.extra == "state" and call in self._births.way(one.args[0])
            for one in call.function.nodes
        )

    # A model that is taken away

    def taken_away(self) -> Iterator[TakenAway]:
        """`torch.save(model.cpu().state_dict(), …)` in a loop, for a model that was moved before and not in it."""
        for call in self._index.calls:
            copy = call.args[0].args[0] if method(call) == "state_dict" else call
            if copy is call or method(copy) != "cpu" or len(call.args) > 1 or call.syntax is None:
                continue
            model, around = copy.args[0].args[0], list(self._index.ancestors(call.syntax))
            loop = next((one for one in around if isinstance(one, ast.For | ast.While)), None)
            saves = any(one in self._index.nodes and called(self._index.nodes[one], "torch.save") for one in around)
            moves = self._models.moves(model)
            if loop is None or not saves or not moves or self._ends(call.statement, loop):
                continue
            inside = set(ast.walk(loop))
            used = any(one.args[0] is model and one.syntax in inside for one in self._index.users[model])
            if used and moves[-1].statement not in inside:
                yield TakenAway(self._text(copy), call, call_of(moves[-1]))

    def _ends(self, statement: ast.stmt | None, loop: ast.AST) -> bool:
        """Whether a loop ends with the save: a `break` or `return` follows in its block."""
        while statement is not None and statement is not loop:
            if any(isinstance(one, ast.Break | ast.Return | ast.Raise) for one in block_of(self._index, statement)):
                return self._index.parents[statement] is not loop
            outer = self._index.parents[statement]
            statement = outer if isinstance(outer, ast.stmt) else None
        return False

    def stored_copies(self) -> Iterator[Node]:
        """`parent[key] = value.cpu()` on what a hook for checkpoints is given, in classes that have one."""
        for owner in self._index.analysis.module.classes:
            if "on_save_checkpoint" not in owner.methods:
                continue
            for function in owner.methods.values():
                for store in function.stores:
                    value = store.value
                    copied = value.args[0].args[0] if method(value) == "cpu" else value
                    if not store.is_attribute and store.base.op is copied.op is Op.PARAM and copied is not value:
                        yield value


def _configured(call: Node) -> Node | None:
    """The model of `model.configure_optimizers()`."""
    if method(call) != "configure_optimizers" or len(call.args) > 1:
        return None
    model = call.args[0].args[0]
    return model if model is not call.function.self_node else None
