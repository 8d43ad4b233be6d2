"""What a class does with a plain container of modules: whether a module container could stand in its place."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._module_values import Sort

Assigned = ast.Assign | ast.AnnAssign
_METHODS = {
    "ModuleList": {"append", "insert", "extend", "pop"},
    "ModuleDict": {"keys", "values", "items", "update", "clear"},
}
"""Methods of the plain container that the module has too, with the same meaning."""
READERS = frozenset(
    {"len", "enumerate", "zip", "reversed", "range", "iter", "sum", "any", "all", "print", "str", "map"}
)
_COPIERS = frozenset({"list", "tuple", "sorted", "set"})
_HANDLING = frozenset(
    {"parameters", "named_parameters", "state_dict", "load_state_dict", "requires_grad_", "train", "eval"}
)
"""What code that takes care of the parts one by one does with them."""
_MOVES = frozenset({"to", "cuda", "cpu"})


@dataclass(slots=True)
class Holder:
    """One assignment of a plain container to an attribute of a module.

    `value` is the expression that makes it; `inner` are containers inside of it; `local` is the name of the local list
    that is assigned, where it is one; `sorts` is what it gets, there and anywhere in the class. `obstacles` are uses
    that a module container does not support, in words; `is_called` says that the class calls what it holds.
    """

    attribute: str
    statement: Assigned
    value: ast.expr
    container: str
    local: str | None = None
    inner: list[ast.expr] = field(default_factory=list)
    sorts: list[Sort] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    hidden: bool = False
    is_called: bool = False

    @property
    def is_empty(self) -> bool:
        """`[]`, `list()`, `{}`."""
        value = self.value
        if isinstance(value, ast.Call):
            return not value.args and not value.keywords
        return not (getattr(value, "elts", None) or getattr(value, "keys", None)) and not isinstance(
            value, (ast.ListComp, ast.DictComp, ast.BinOp, ast.Name)
        )


class Uses:
    """The uses of the attributes of one class, in it and in the classes of the file that derive from it."""

    def __init__(self, program: Program, nodes: list[ast.AST]) -> None:
        self._program = program
        self._names = program.names
        self._nodes = nodes
        self._uses: dict[str, list[ast.Attribute]] = {}
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                self._uses.setdefault(node.attr, []).append(node)

    def of(self, attribute: str) -> list[ast.Attribute]:
        """Every `self.attribute`."""
        return self._uses.get(attribute, [])

    def judge(self, attribute: str, holders: list[Holder]) -> None:
        """Note what stands against a module container, and whether the modules are registered or handled otherwise."""
        uses = self._uses[attribute]
        if any(self._is_registered_by(use) or self._is_looked_up(use) or self._is_cared_for(use) for use in uses):
            for one in holders:
                one.hidden = True
            return
        containers = {one.container for one in holders}
        told = [self._obstacle(use, container) for use in uses for container in containers]
        obstacles = [one for one in told if one is not None]
        if self._gets_moved_values(attribute):
            obstacles.append("the class moves what it gives to them by hand")
        others = [one for one in uses if isinstance(one.ctx, ast.Store)]
        called = any(self._calls_of(attribute))
        for holder in holders:
            holder.is_called = called
            holder.obstacles.extend(obstacles)
            if any(self._clashes(holder, one) for one in others):
                holder.obstacles.append(f"`self.{attribute}` is assigned more than once")
            if self._is_before_init(holder.statement):
                holder.obstacles.append("`super().__init__()` must run first")

    def _obstacle(self, use: ast.Attribute, container: str) -> str | None:
        """Why a use would not work on a module container, in words."""
        parent = self._names.parent(use)
        text = f"self.{use.attr}"
        match parent:
            case ast.Attribute(attr=name):
                call = self._names.parent(parent)
                known = isinstance(call, ast.Call) and call.func is parent and name in _METHODS[container]
                return None if known and (name != "pop" or call.args) else f"`{text}.{name}` is used"  # type: ignore[union-attr]
            case ast.Call():
                return None if calls(parent, READERS | _COPIERS) else f"`{text}` is passed to a call"
            case ast.Compare(ops=[ast.Is() | ast.IsNot() | ast.In() | ast.NotIn()]):
                return None
            case ast.Compare() | ast.BinOp() | ast.Return() | ast.Assign() | ast.keyword() | ast.Yield():
                return None if isinstance(use.ctx, ast.Store) else f"`{text}` is used as a plain {_plain(container)}"
        return None

    def _is_registered_by(self, use: ast.Attribute) -> bool:
        """`nn.Sequential(*self.x)`, `self.y = self.x[0]`, `self.x.append(self.y)`: its modules are registered there."""
        parent = self._names.parent(use)
        if isinstance(parent, ast.Starred) or self._is_unpacked_later(use):
            return True
        if isinstance(parent, ast.Call) and use in parent.args:
            called = (dotted(parent.func) or "").rpartition(".")[2]
            return called[:1].isupper() or called.startswith("regist")
        above = self._names.parent(parent) if isinstance(parent, ast.Subscript) else parent
        return (
            isinstance(above, ast.Assign)
            and isinstance(use.ctx, ast.Load)
            and any(isinstance(one, ast.Attribute) for one in above.targets)
        )

    def _is_looked_up(self, use: ast.Attribute) -> bool:
        """`return self.x[name]` in a method that the constructor calls: what it chose is registered there."""
        function = scope.function_around(self._program, use)
        owner = scope.class_around(self._program, use)
        constructor = scope.constructor(owner) if owner is not None else None
        if constructor is None or not isinstance(function, ast.FunctionDef):
            return False
        if function is constructor or not isinstance(self._names.parent(use), ast.Subscript):
            return False
        statement = self._names.statement(use)
        names = scope.stored(statement) if isinstance(statement, ast.Assign) else set()
        read = [statement, *map(self._names.statement, scope.loads(function, names))]
        called = {dotted(one.func) for one in ast.walk(constructor) if isinstance(one, ast.Call)}
        return f"self.{function.name}" in called and any(isinstance(one, ast.Return) for one in read)

    def _is_unpacked_later(self, use: ast.Attribute) -> bool:
        """`parts = sum(zip(self.x, others), ())`, and then `nn.Sequential(*parts)`."""
        statement = self._names.statement(use)
        function = scope.function_around(self._program, use)
        if not isinstance(statement, ast.Assign) or function is None or isinstance(use.ctx, ast.Store):
            return False
        names = {name for target in statement.targets for name in scope.stored(target)}
        return any(isinstance(self._names.parent(one), ast.Starred) for one in scope.loads(function, names))

    def _is_cared_for(self, use: ast.Attribute) -> bool:
        """Whether parameters or modes of what it holds are handled one by one."""
        for around in self._names.ancestors(use):
            if isinstance(around, ast.comprehension):
                around = self._names.parent(around) or around
            elif isinstance(around, (scope.Function, ast.ClassDef)) or _is_inside(around, use):
                return False
            elif not isinstance(around, (ast.For, ast.AsyncFor, ast.Subscript, ast.Attribute, ast.Call)):
                continue
            if any(isinstance(one, ast.Attribute) and one.attr in _HANDLING for one in ast.walk(around)):
                return True
            if isinstance(around, (ast.For, ast.AsyncFor)):
                return False
        return False

    def _calls_of(self, attribute: str) -> Iterator[ast.Call]:
        """The calls of what a container holds: `for f in self.x: y = f(y)`, `self.x[i](y)`."""
        items: set[str] = set()
        for node in self._nodes:
            if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and _mentions(node.iter, attribute):
                items |= {one.id for one in ast.walk(node.target) if isinstance(one, ast.Name)}
        for node in self._nodes:
            if isinstance(node, ast.Call):
                called = node.func.value if isinstance(node.func, ast.Subscript) else node.func
                if _is_own(called, attribute) or (isinstance(called, ast.Name) and called.id in items):
                    yield node

    def _gets_moved_values(self, attribute: str) -> bool:
        """`self.x[i](y.to(self.device))`: the class decides where these modules work."""
        return any(
            isinstance(one, ast.Attribute) and one.attr in _MOVES
            for call in self._calls_of(attribute)
            for given in call.args
            for one in ast.walk(given)
        )

    def _clashes(self, holder: Holder, other: ast.Attribute) -> bool:
        """Whether an assignment may run beside this one and give the attribute something that is no module."""
        statement = self._names.statement(other)
        if statement is holder.statement or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign))
        if isinstance(statement.value, ast.Constant) and statement.value.value is None:
            return False
        return not self._excludes(holder.statement, statement)

    def _excludes(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether two statements stand in different branches of one `if`."""
        around = {id(node): node for node in (one, *self._names.ancestors(one))}
        inner: ast.AST = other
        for outer in self._names.ancestors(other):
            if isinstance(outer, ast.If) and id(outer) in around:
                mine = any(id(node) in around for node in outer.body)
                return mine != any(node is inner for node in outer.body)
            if id(outer) in around:
                return False
            inner = outer
        return False

    def _is_before_init(self, statement: ast.stmt) -> bool:
        """Whether a constructor assigns before it has run `nn.Module.__init__`."""
        function = scope.function_around(self._program, statement)
        if function is None or function.name != "__init__":
            return False
        return not any(
            isinstance(one, ast.Attribute) and one.attr == "__init__" and one.lineno < statement.lineno
            for one in ast.walk(function)
        )

    def is_only_first(self, attribute: str) -> bool:
        """Whether a list of one is only ever read as `self.x[0]`: the way to keep a module out of `parameters()`."""
        reads = [use for use in self._uses[attribute] if isinstance(use.ctx, ast.Load)]
        return all(
            isinstance(parent := self._names.parent(use), ast.Subscript)
            and isinstance(parent.slice, ast.Constant)
            and parent.slice.value == 0
            for use in reads
        )


def _is_inside(loop: ast.AST, use: ast.AST) -> bool:
    """Whether a use stands in the body of a loop, not in its header."""
    return isinstance(loop, (ast.For, ast.AsyncFor)) and all(one is not use for one in ast.walk(loop.iter))


def _mentions(node: ast.expr, attribute: str) -> bool:
    return any(_is_own(one, attribute) for one in ast.walk(node))


def _is_own(node: ast.AST, attribute: str) -> bool:
    """`self.attribute`."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def calls(node: ast.Call, names: frozenset[str] | set[str]) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id in names


def _plain(container: str) -> str:
    return "list" if container == "ModuleList" else "dict"
