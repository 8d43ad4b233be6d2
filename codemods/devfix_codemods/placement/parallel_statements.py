"""Twins: assignments near each other that differ in names and in the move alone, and arrays that one row of statements
makes tensors of."""

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from devfix_codemods.catalogue import Effect, Kind, canonical, effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import before_methods, key, name
from devfix_codemods.members import Enum, auto
from devfix_codemods.placement.elements import link_of_part
from devfix_codemods.placement.graph import OF_BATCHES, Birth
from devfix_codemods.placement.joined import Joined
from devfix_codemods.placement.operands import is_only_spread
from devfix_codemods.placement.targets import moving_call
from devfix_codemods.placement.together import is_followed, supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births

NEAR = 8
"""How many statements apart twins may be."""


class ParallelStatements:
    """Says of values that they belong where their twins are moved."""

    def __init__(
        self,
        births: "Births",
        comes_from_outside: Callable[[Node], bool],
        is_given_by_method: Callable[[Node], bool],
    ) -> None:
        self._births = births
        self._is_given_by_method = is_given_by_method
        self._joined = Joined(births)
        self._comes_from_outside = comes_from_outside

    def all(self) -> None:
        births = self._births
        for function in births.module.functions:
            if any(births.is_move(node) and births.is_elsewhere(node) for node in function.nodes):
                self._of_function(function)

    def _of_function(self, function: Function) -> None:
        values = {
            one.syntax: one for one in function.nodes if isinstance(one.syntax, ast.expr) and one.op is not Op.ITER
        }
        row = [
            _Assigned(at, blocks, _Shape(one.value))
            for at, (one, blocks) in enumerate(_statements(function.syntax))
            if isinstance(one, ast.Assign) and not _takes_apart(one)
        ]
        for place, (_, _, shape) in enumerate(row):
            near = list(_near(row, place))
            for form, own in shape.forms.items():
                alike = [(one, one.forms[form].parts) for one in near if one.forms[form].text == own.text]
                for index, part in enumerate(own.parts if alike else ()):
                    node = values.get(part)
                    if node is not None and isinstance(part, _VALUES) and self._may_stay(node):
                        self._beside(node, shape, form, {values.get(parts[index]): one for one, parts in alike})
            whole = values.get(shape.value)
            if whole is not None and self._may_stay(whole):
                self._beside_moved_later(whole, [values.get(one.value) for one in near])

    def _beside(self, node: Node, shape: "_Shape", form: "_Form", near: dict[Node | None, "_Shape"]) -> None:
        named = before_methods(node).statement is not node.statement  # else what has the method is a part by itself
        moving = {one: move for one in near if one is not None and (move := self._move(one)) is not None}
        found = {
            one: near[one]
            for one, move in moving.items()
            if (named or move is one or move.statement is not one.statement)
            if not is_followed(self._births, node, [move])
        }
        moved = {one: each for one, each in found.items() if self._are_alike(node, one)}
        if not moved and not shape.moves:
            moved = {
                one: each for one, each in found.items() if each.exact == shape.exact and self._goes_with(node, one)
            }
        if form is _Form.COLUMNS:
            moved = {one: each for one, each in moved.items() if _are_columns(node, one)}
        twins = [one for one, each in moved.items() if each.exact == shape.exact]
        if moved:
            if not self._is_of_array(node):
                left = self._left(node)
                self._births.beside_moved(left, None, link_of_part(left, self._births.kinds))
            moves = {one: [moving[one]] for one in twins or moved}
            supports(self._births.graph, node, moves, "twin" if twins else "family")

    def _beside_moved_later(self, node: Node, near: Sequence[Node | None]) -> None:
        """`x, y = cat(xs), cat(ys)`, each by its statement, of which others move several: `x = x.cuda()`."""
        joined, moved = self._joined_by(node), dict[Node, list[Node]]()
        for one in near if joined else ():
            if one is not None and self._joined_by(one) == joined and (moves := self._moves_of_roots(one)):
                moved[one] = moves
        moves = [one for each in moved.values() for one in each]
        if len(moved) > 1 and not self._moves_of_roots(node) and not is_followed(self._births, node, moves):
            self._births.beside_moved(node, None)
            supports(self._births.graph, node, moved, "twin")

    def _moves_of_roots(self, node: Node) -> list[Node]:
        births = self._births
        return [move for root in births.roots(node) for move in births.moves_of(root) if births.is_move(move)]

    def _joined_by(self, node: Node) -> str | None:
        """The function of torch that joins rows to a value, or to what is wrapped: `Variable(torch.cat(rows))`."""
        roots = [one for one in self._births.roots(node) if one.op is Op.CALL]
        wrapped = [one.args[1] for one in roots if len(one.args) == 2 and one.args[1].op is Op.CALL]
        found = (name(one.args[0]) for one in (*roots, *wrapped))
        return next((one for one in found if one is not None and effect(canonical(one)) is Effect.SEQUENCE), None)

    def _move(self, node: Node) -> Node | None:
        """The move in `x.to(device).float()`, or `x = x.to(device)` where nothing else reads what is made; None where
        there is none to elsewhere, and for modules."""
        births = self._births
        move = moving_call(node) if node.op is Op.CALL else node
        if not births.is_move(move) and node.op is Op.CALL and (births.graph.is_made(node) or self._is_of_array(node)):
            readers = {one for one in births.module.users.get(node, ()) if one.op is not Op.PHI}
            moves = (one for one in births.moves_of(node) if one.op is Op.CALL and one.guard == node.guard)
            move = next((one for one in moves if readers == {one.args[0]}), move)
        moves_elsewhere = births.is_move(move) and births.is_elsewhere(move)
        return move if moves_elsewhere and not births.kinds.is_module(node) else None

    def _goes_with(self, node: Node, twin: Node) -> bool:
        """Whether two values that are computed alike, of parts of one thing, are given to one call, or returned,
        together, or are given to the same model one by one."""
        way, births = _way_to_first(node), self._births
        computed = _is_computed(node) and _is_computed(twin) and way[-1] is _way_to_first(twin)[-1]
        if any(births.is_move(one) or births.moves_of(one) for one in way):
            return False  # what it is a part of was moved as a whole
        users = births.module.users
        both = {*users.get(node, ())}.intersection(users.get(twin, ())) if computed else ()
        together = any(one.op is Op.SEQUENCE or (one.op is Op.CALL and node in one.args[1:]) for one in both)
        return together or (computed and not self._models_of(node).isdisjoint(self._models_of(twin)))

    def _models_of(self, value: Node) -> set[object]:
        """The models that are called with a value, and the parts of a module, by how they are written."""
        users = self._births.module.users.get(value, ())
        called = [one.args[0] for one in users if one.op is Op.CALL and one.args[1:2] == (value,)]
        return {key(one) for one in called if self._births.kinds.is_module(one) or self._is_part(one)}

    def _is_part(self, called: Node) -> bool:
        """`self.encoder` of a module."""
        own = called.op is Op.ATTR and called.args[0] is called.function.self_node
        return own and called.function.owner in self._births.kinds.module_classes

    def _may_stay(self, node: Node) -> bool:
        """Whether a value is none that is moved, and may be a tensor that something is done with."""
        births = self._births
        moved = births.is_move(node) or births.moves_of(node)
        return (
            not moved
            and node in births.used
            and not is_only_spread(node, births.module.users)
            and births.kinds.of(node) in {None, Kind.TENSOR}
            and not self._joined.is_moved(node)
        )

    def _are_alike(self, node: Node, twin: Node) -> bool:
        """Whether two values come from outside, are made of arrays, or are computed of what came together."""
        if node.op is Op.ATTR and not self._are_of_one(node, before_methods(twin)):
            return False
        if self._comes_from_outside(node) or self._is_of_array(node):
            return True
        one, other = before_methods(node), before_methods(twin)
        if one is node:
            entries = _is_entry(one) and _is_entry(other) and one.args[0] is other.args[0]
            return entries and self._is_given_by_method(one.args[0])
        if one is other or self._births.moves_of(one) or not self._comes_from_outside(one):
            return False
        return one.op is other.op and (one.op is Op.PARAM or (one.op in _PARTS and one.args[0] is other.args[0]))

    def _are_of_one(self, node: Node, twin: Node) -> bool:
        """`batch.x`, `batch.y`: attributes of one thing that is given, and of no class that the file has."""
        base, kinds = node.args[0], self._births.kinds
        is_given = base.op in _GIVEN and kinds.class_of(base) is None
        return is_given and not kinds.is_module(base) and twin.op is Op.ATTR and twin.args[0] is base

    def _left(self, node: Node) -> Node:
        """`y` of `y.float()`, where that is known to be left behind."""
        origin = before_methods(node)
        return origin if self._births.graph.is_born(origin, OF_BATCHES) else node

    def _is_of_array(self, node: Node) -> bool:
        """`torch.from_numpy(x).float()`"""
        return any(self._births.graph.is_born(root, {Birth.ARRAY}) for root in self._births.roots(node))


def exact_shape(value: Node) -> str | None:
    """How an expression that makes a value reads, without the names of its values, its texts and its moves; None where
    it is not the whole value of its assignment."""
    statement = value.statement
    if not isinstance(statement, ast.Assign) or statement.value is not value.syntax:
        return None
    return _Shape(statement.value).exact


def _takes_apart(statement: ast.Assign) -> bool:
    """`h, w = sample["size"]`: what is taken apart at once is not what stands in one piece beside it."""
    return isinstance(statement.targets[0], ast.Tuple) and not isinstance(statement.value, ast.Tuple)


def _are_columns(node: Node, twin: Node) -> bool:
    """`data.x[rows]`, `data["y"][rows[:3]]`: rows of parts of one thing."""
    one, other = _column_of(node), _column_of(twin)
    return one is not None and other is not None and one is not other and one.args[0] is other.args[0]


def _is_computed(node: Node) -> bool:
    return isinstance(node.syntax, ast.Call | ast.Subscript)


def _way_to_first(node: Node) -> list[Node]:
    """A value, and what it is made of, down to what the first of all that it is computed of is a part of: `store` of
    `gather(store.x, rows).view(3)`."""
    way = [node]
    for one in way:  # grows
        computed = one.op is Op.CALL and effect(canonical(name(one.args[0]) or "")) is not None
        if computed and len(one.args) > 1:
            way.append(one.args[1])
        elif one.op is Op.CALL and one.args[0].op is Op.ATTR and not name(one.args[0]):
            way.append(one.args[0].args[0])
        elif one.op in _PARTS or (one.op is Op.PHI and one.args[0] not in way):
            way.append(one.args[0])
    return way


def _column_of(node: Node) -> Node | None:
    """`data.x` of `data.x[rows].float().to(device)`."""
    node = before_methods(node)
    if node.op is not Op.ITEM or isinstance(node.extra, str):
        return None
    column = node.args[0]
    return column if column.op is Op.ATTR or _is_entry(column) else None


def _is_entry(node: Node) -> bool:
    """`sample["x"]`"""
    return node.op is Op.ITEM and isinstance(node.extra, str) and isinstance(node.syntax, ast.Subscript)


def _near(row: "Sequence[_Assigned]", place: int) -> "Iterator[_Shape]":
    """What stands near an assignment, and runs wherever that does."""
    own = row[place]
    for others in (reversed(row[max(0, place - NEAR) : place]), row[place + 1 : place + 1 + NEAR]):
        for one in others:
            if abs(one.at - own.at) <= NEAR and one.blocks == own.blocks[: len(one.blocks)]:
                yield one.shape


def _statements(tree: ast.AST, around: tuple[int, ...] = ()) -> Iterator[tuple[ast.stmt, tuple[int, ...]]]:
    """The statements of a function in the order of its text, without those of functions inside, each with the blocks
    that it is in, the outermost first."""
    blocks = [getattr(tree, field, None) for field in ("body", "orelse", "finalbody")]
    blocks += [one.body for one in getattr(tree, "handlers", [])]
    for block in blocks:
        inner = (*around, id(block))
        for one in block if isinstance(block, list) else ():
            yield one, inner
            if not isinstance(one, _SCOPES):
                yield from _statements(one, inner)


_VALUES = (ast.Call, ast.Subscript, ast.Attribute)
_GIVEN = frozenset({Op.ITER, Op.ITEM, Op.CALL})
_PARTS = frozenset({Op.ITEM, Op.ATTR})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_DTYPES = frozenset({"float", "long", "double", "half", "int", "bool"})
_OF_ARRAYS = frozenset({"from_numpy", "tensor", "as_tensor", "Tensor", "FloatTensor", "LongTensor"})


class _Assigned(NamedTuple):
    """The value of an assignment, which statement of its function that is, and the blocks that it is in."""

    at: int
    blocks: tuple[int, ...]
    shape: "_Shape"


class _Form(Enum):
    """What does not matter in an expression."""

    __hash__ = object.__hash__

    ARRAYS = auto()
    """What a tensor is made of: `torch.tensor(x)`, `torch.tensor([int(y) for y in z])`."""
    COLUMNS = auto()
    """Which rows are taken: `data.x[rows]`, `data.y[rows[:count]]`."""


class _Spelled(NamedTuple):
    """An expression without the names of its values, its texts, and its moves, and the expressions in it, each with its
    moves: those of two with one text stand in one order."""

    text: str
    parts: list[ast.expr]


class _Shape:
    """An expression, `exact` and in the looser forms in which it may be like others."""

    def __init__(self, value: ast.expr) -> None:
        self.value = value
        self.moves = any(map(_moved, ast.walk(value)))
        """Whether anything in it is moved."""
        self.exact = _spelled(value, None).text
        self.forms = {form: _spelled(value, form) for form in (_Form.ARRAYS, _Form.COLUMNS)}


def _moved(node: ast.AST) -> ast.expr | None:
    """`x` of `x.to(device)`"""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="to" | "cuda")):
            return value
    return None


def _spelled(value: ast.expr, form: _Form | None) -> _Spelled:
    parts: list[ast.expr] = []
    return _Spelled(_text(value, form, parts), parts)


def _text(node: ast.AST, form: _Form | None, parts: list[ast.expr]) -> str:
    """An expression in a form; `parts` gets the expressions in it."""
    if isinstance(node, ast.expr):
        parts.append(node)
    while (moved := _moved(node)) is not None:
        node = moved
    if isinstance(node, ast.Name):
        return "_"
    if isinstance(node, ast.Constant):
        return type(node.value).__name__
    if isinstance(node, ast.Attribute):
        return f"{_text(node.value, form, parts)}._"
    if isinstance(node, ast.Subscript) and form is _Form.COLUMNS:
        return f"{_text(node.value, form, parts)}[]"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        method = "dtype" if node.func.attr in _DTYPES else node.func.attr
        converts = form is _Form.ARRAYS and method in _OF_ARRAYS and isinstance(node.func.value, ast.Name)
        given = [*node.args, *node.keywords] if not converts else node.keywords
        base, *arguments = (_text(one, form, parts) for one in (node.func.value, *given))
        return f"{base}.{method}({','.join(arguments)})"
    inner = (_text(one, form, parts) for one in ast.iter_child_nodes(node))
    return f"{type(node).__name__}({','.join(inner)})"
