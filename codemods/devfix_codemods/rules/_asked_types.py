"""Names of which a function asks whether they are tensors: until that is settled they may be numbers or lists."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

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
    questions = list(_questions(program, function, name)) if function is not None else []
    if function is None or not questions:
        return False
    line, around = program.names.statement(node).lineno, set(program.names.ancestors(node))
    if any(one.owner in around for one in questions):
        return False
    stores = [one.lineno for one in _stores(function, name, questions)]
    above = [one for one in questions if max((each for each in stores if each < line), default=0) < one.line < line]
    if any(one.is_settled(name) for one in above):
        return False
    if above or any(one < line for one in stores):
        return bool(above)
    return not any(all(line <= one <= question.line for one in stores) and stores for question in questions)


def is_denied(program: Program, name: str, node: ast.AST) -> bool:
    """Whether control comes to `node` only where `name` has been asked for its type, and is no tensor."""
    function = scope.function_around(program, node)
    if function is None:
        return False
    around = {node, *program.names.ancestors(node)}
    return any(
        (not around.isdisjoint(one.others) and not _is_bound_before(name, one.others, around))
        or _has_left(program, one, name, around)
        for one in _questions(program, function, name)
        if one.is_plain
    )


def _has_left(program: Program, question: "_Question", name: str, around: set[ast.AST]) -> bool:
    """Whether tensors have left the function before: `if isinstance(x, torch.Tensor): return x`."""
    owner = question.owner
    if not isinstance(owner, ast.If) or not scope.leaves(owner.body if question.tensor else owner.orelse):
        return False
    block = scope.block_of(program, owner)
    below = block[block.index(owner) + 1 :]
    return not around.isdisjoint(below) and not _is_bound_before(name, [*question.others, *below], around)


def _is_bound_before(name: str, branch: Sequence[ast.stmt | ast.expr], around: set[ast.AST]) -> bool:
    """Whether a branch may give a name another value before it comes to what `around` holds."""
    for one in branch:
        if one in around and isinstance(one, ast.expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return):
            return False  # what a statement binds is bound last
        if name in scope.stored(one):
            return True
        if one in around:
            return False
    return False


@dataclass(frozen=True, slots=True)
class _Question:
    """A statement or a choice that depends on what a name is. `tensor`: its first branch has a tensor."""

    owner: ast.If | ast.IfExp | ast.Assert
    tensor: bool

    @property
    def line(self) -> int:
        return self.owner.lineno

    @property
    def is_plain(self) -> bool:
        """Whether nothing else is asked: without its first branch, the answer is the contrary."""
        test = self.owner.test
        return isinstance(test.operand if isinstance(test, ast.UnaryOp) else test, ast.Call | ast.Compare)

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
        return bool(others) and (scope.leaves(others) or any(name in scope.stored(one) for one in others))


def _questions(program: Program, function: scope.Function, name: str) -> Iterator[_Question]:
    if not _may_ask(program.source.data):
        return
    for node in walk(function):
        asks = _asks_for_tensor(node, name) if isinstance(node, ast.Call | ast.Compare) else None
        if asks is not None and isinstance(node, ast.expr) and (owner := _owner(program, node)) is not None:
            yield _Question(owner, asks is not _is_negated(program, node))


@lru_cache(maxsize=1)
def _may_ask(data: bytes) -> bool:
    """Whether the bytes of a file ask for types; the same of one file for all of its fixes."""
    return any(word in data for word in _WORDS)


def _asks_for_tensor(node: ast.Call | ast.Compare, name: str) -> bool | None:
    """Whether a question about the type of `name` asks for a tensor, or for what is none; None for any other."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance"), args=[asked, types]) if dotted(asked) == name:
            return _is_tensor_among(types)
        case ast.Call(func=ast.Name(id="hasattr"), args=[asked, ast.Constant(value=str() as attribute)]):
            return True if dotted(asked) == name and attribute in _OF_TENSORS else None
        case ast.Call(args=[asked, *_]) if dotted(asked) == name:
            return _ASKERS.get((dotted(node.func) or "").rpartition(".")[2])
        case ast.Compare(left=ast.Call(func=ast.Name(id="type"), args=[asked]), ops=[op], comparators=[types]):
            told = _is_tensor_among(types) if dotted(asked) == name else None
            return told if told is None or isinstance(op, ast.Is | ast.Eq | ast.In) else not told
    return None


_WORDS = (b"isinstance(", b"is_tensor(", b"hasattr(", b"isscalar(", b"type(")
_ASKERS = {"is_tensor": True, "isscalar": False}
_OF_TENSORS = frozenset({"device", "to", "cuda", "cpu", "is_cuda", "detach", "dim", "requires_grad"})


def _is_tensor_among(node: ast.expr) -> bool | None:
    """Whether types are tensors alone, or none of them is one; None for others and for a mixture."""
    types = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
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
