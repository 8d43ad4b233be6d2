"""Names of which a function asks whether they are tensors: until that is settled they may be numbers or lists."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program

_TENSORS = frozenset({"Tensor", "Variable"})
_OTHERS = frozenset(
    {"int", "float", "bool", "complex", "str", "Number", "Real", "ndarray", "list", "tuple", "dict", "Sequence"}
    | {"Iterable", "Mapping", "Collection", "List", "Tuple", "Dict", "number", "generic"}
)


def is_asked(program: Program, name: str, node: ast.AST) -> bool:
    """Whether nothing has settled at `node` that `name` is a tensor, though the function asks that somewhere."""
    function = scope.function_around(program, node)
    if function is None or (b"isinstance" not in program.source.data and b"is_tensor" not in program.source.data):
        return False
    questions = list(_questions(program, function, name))
    if not questions:
        return False
    line, around = program.names.statement(node).lineno, set(program.names.ancestors(node))
    if any(one.owner in around for one in questions):
        return False
    stores = [one.lineno for one in _stores(function, name, questions)]
    if any(one < line for one in stores) or any(one.owner.lineno < line and one.is_settled(name) for one in questions):
        return False
    return not any(all(line <= one <= question.owner.lineno for one in stores) and stores for question in questions)


def is_no_tensor(program: Program, node: ast.expr) -> bool:
    """Whether `node` is read only where `isinstance(x, torch.Tensor)` has been denied, and is still that `x`."""
    function, name = scope.function_around(program, node), dotted(node)
    if function is None or name is None or b"Tensor" not in program.source.data:
        return False
    around = {node, *program.names.ancestors(node)}
    return any(
        not around.isdisjoint(one.others) and not any(name in scope.stored(each) for each in one.others)
        for one in _questions(program, function, name)
        if one.is_plain
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """A statement or a choice that depends on what a name is. `tensor`: its first branch has a tensor."""

    owner: ast.If | ast.IfExp | ast.Assert
    tensor: bool

    @property
    def is_plain(self) -> bool:
        """Whether nothing else is asked: without its first branch, the answer is the contrary."""
        test = self.owner.test
        return isinstance(test.operand if isinstance(test, ast.UnaryOp) else test, ast.Call)

    @property
    def others(self) -> Sequence[ast.stmt | ast.expr]:
        """The branch of what is no tensor."""
        if isinstance(self.owner, ast.Assert):
            return ()
        branch = self.owner.orelse if self.tensor else self.owner.body
        return branch if isinstance(branch, list) else (branch,)

    def is_settled(self, name: str) -> bool:
        """Whether the name is a tensor behind it: what is none was made one, or has left."""
        if isinstance(self.owner, ast.Assert):
            return self.tensor
        if isinstance(self.owner, ast.IfExp):
            return False
        others = self.owner.orelse if self.tensor else self.owner.body
        return bool(others) and (_leaves(others) or any(name in scope.stored(one) for one in others))


def _leaves(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))


def _questions(program: Program, function: scope.Function, name: str) -> Iterator[_Question]:
    for node in walk(function):
        if not isinstance(node, ast.Call) or not node.args or dotted(node.args[0]) != name:
            continue
        asks = _asks_for_tensor(node)
        owner = _owner(program, node)
        if asks is not None and owner is not None:
            yield _Question(owner, asks is not _is_negated(program, node))


def _asks_for_tensor(call: ast.Call) -> bool | None:
    """What `isinstance(x, torch.Tensor)` and `torch.is_tensor(x)` ask for; False for types that are no tensors."""
    asker = (dotted(call.func) or "").rpartition(".")[2]
    if asker == "is_tensor":
        return True
    if asker != "isinstance" or len(call.args) < 2:
        return None
    types = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
    names = {(dotted(one) or "").rpartition(".")[2] for one in types}
    if names & _TENSORS:
        return None if names & _OTHERS else True
    return False if names & _OTHERS else None


def _owner(program: Program, node: ast.expr) -> ast.If | ast.IfExp | ast.Assert | None:
    inner: ast.AST = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, (ast.If, ast.IfExp, ast.Assert)):
            return outer if outer.test is inner else None
        if not isinstance(outer, ast.expr):
            return None
        inner = outer
    return None


def _is_negated(program: Program, node: ast.expr) -> bool:
    parent = program.names.parent(node)
    return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)


def _stores(function: scope.Function, name: str, questions: list[_Question]) -> Iterator[ast.stmt]:
    """Where the function gives the name another value, whatever the answers are."""
    inside = {each for one in questions for each in ast.walk(one.owner)}
    for one in walk(function):
        if isinstance(one, (ast.Assign, ast.AnnAssign, ast.AugAssign)) and one not in inside:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            if any(
                dotted(each) == name for target in targets for each in ast.walk(target) if isinstance(each, ast.expr)
            ):
                yield one
