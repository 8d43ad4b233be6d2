"""Values of a program in SSA form: each node is defined once; where paths join, a `PHI` stands.

A node knows the syntax that made it, its operands, and the *guard* under which it is computed. Functions, classes and
stores have no `repr` of their parts: these refer to each other, without end.
"""

import ast
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from devfix_codemods.members import Enum, auto

Literal = tuple[Hashable, bool]
"""An atom, the key of what is tested, and whether it holds."""

Guard = frozenset[Literal]
"""A path condition: literals that all hold."""

ALWAYS: Guard = frozenset()

PROPERTIES = frozenset({"property", "cached_property"})

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

Brought = Callable[[str], str | None]
"""From a name that a file binds nowhere to what one of its star imports binds it to, by its dotted name."""


def nothing_brought(name: str) -> None:
    """The answer where no other file is known."""


class Op(Enum):
    """What sort of definition a node is."""

    __hash__ = object.__hash__  # members are singletons; the inherited one hashes their names, slowly

    CONST = auto()
    """`extra` is the value."""
    REF = auto()
    """What an import, or the language itself, names: `extra` is its qualified name, `torch.zeros`, `builtins.len`."""
    GLOBAL = auto()
    """A name of the module, read inside of a function; `extra` is the name."""
    PARAM = auto()
    """`extra` is the name; a starred one has its stars."""
    CALL = auto()
    """`args[0]` is the callee, the others what it gets; `extra` names these: None, a keyword, `*` or `**`."""
    ATTR = auto()
    """`args[0]` is the object, `extra` the name."""
    ITEM = auto()
    """`args[0]` is the container, `args[1]` the index where it is no constant; `extra` the constant."""
    ITER = auto()
    """An element of what `args[0]` yields; `extra` says so where that is a mapping, and this one of its values."""
    OPERATION = auto()
    """Arithmetic of `args`; `extra` is the operator's class name, `inplace` in `syntax` being an `ast.AugAssign`."""
    COMPARE = auto()
    """A comparison of `args`; `extra` are the operators."""
    SEQUENCE = auto()
    """A display; `extra` is tuple, list or set."""
    MAPPING = auto()
    """A display; `extra` are the constant keys, None for others."""
    COMPREHENSION = auto()
    """`args[0]` is any element; `extra` is list, set, dict or generator."""
    PHI = auto()
    """One of `args`; `extra` holds the guard of each. `syntax` is None where branches join, else the loop or choice."""
    ENTER = auto()
    """What a `with` statement binds; `args[0]` is the manager."""
    AFTER = auto()
    """`args[0]` after the statement `args[1]`, a call of one of its methods that may have moved it in place."""
    FUNCTION = auto()
    """`extra` is the `Function`."""
    CLASS = auto()
    """`extra` is the `Class`."""
    FIELD = auto()
    """An attribute of all objects of a class; `extra` is its name."""
    UNKNOWN = auto()


class Node:
    """One value. Nodes are compared by identity; `index` counts them in the order of their making."""

    __slots__ = ("args", "extra", "function", "guard", "index", "named", "op", "statement", "syntax")

    def __init__(
        self,
        op: Op,
        syntax: ast.AST | None,
        args: tuple["Node", ...],
        extra: Hashable,
        guard: Guard,
        function: "Function",
        statement: ast.stmt | None,
    ) -> None:
        self.op = op
        self.syntax = syntax
        self.args = args
        self.extra = extra
        self.guard = guard
        self.function = function
        self.statement = statement
        self.named: tuple[str, ...] | None = None  # what `keys.names` has found
        self.index = function.module.count
        function.module.count += 1
        function.nodes.append(self)

    def __repr__(self) -> str:
        text = ast.unparse(self.syntax) if isinstance(self.syntax, ast.expr) else str(self.extra)
        return f"<{self.op.name} {self.index}: {text[:40]}>"

    @property
    def line(self) -> int:
        return getattr(self.syntax, "lineno", 0)

    @property
    def extras(self) -> tuple[Any, ...]:
        """What it says of each of its operands: the names of arguments, the operators of a comparison, keys."""
        return self.extra if isinstance(self.extra, tuple) else ()


Key = str | tuple[Node, str]
"""What an environment binds: a name, or an attribute of a value."""

Environment = dict[Key, Node]


@dataclass(eq=False, slots=True, repr=False)
class Store:
    """An attribute or an item of `base` gets `value`; `key` is the name or the constant index, None where unknown."""

    base: Node
    key: Hashable
    value: Node
    guard: Guard
    statement: ast.stmt | None
    is_attribute: bool
    index: Node | None = None


@dataclass(eq=False, slots=True, repr=False)
class Class:
    """A class: its bases as values, its methods, and a node for each attribute that its objects share."""

    name: str
    syntax: ast.ClassDef
    bases: tuple[Node, ...]
    home: "Function"
    methods: dict[str, "Function"] = field(default_factory=dict)
    members: dict[str, Node] = field(default_factory=dict)
    fields: dict[str, Node] = field(default_factory=dict)
    stored: set[str] = field(default_factory=set)
    changes: dict[str, tuple[set[str], set[tuple[str, bool]]]] = field(default_factory=dict)
    """What methods do to their object, as far as somebody asked (`versions`)."""
    _lineage: tuple["Class", ...] = ()
    _writes: Counter[tuple[str, str]] | None = None

    def keeps(self, name: str) -> None:
        """A method stores the attribute `name`, as its lowering says."""
        self.stored.add(name)

    def lineage(self) -> Sequence["Class"]:
        """The class, and those that it is derived from in the same file."""
        if not self._lineage:
            found = [self]
            for one in found:  # grows by the bases of each
                bases = (base.extra for base in one.bases if base.op is Op.CLASS)
                found += [base for base in bases if isinstance(base, Class) and base not in found]
            self._lineage = tuple(found)
        return self._lineage

    def sets(self, name: str) -> bool:
        """Whether a method of the class, or of one that it is derived from, stores the attribute."""
        return name in self.stored or any(name in one.stored for one in self.lineage()[1:])

    def sets_once(self, itself: str, name: str) -> bool:
        """Whether one place alone in the text of the class and of its bases here sets `itself.name`."""
        return sum(one._writes_of(itself, name) for one in self.lineage()) == 1

    def _writes_of(self, itself: str, name: str) -> int:
        if self._writes is None:
            attributes = (one for one in walk(self.syntax) if isinstance(one, ast.Attribute))
            stores = (one for one in attributes if not isinstance(one.ctx, ast.Load))
            self._writes = Counter((one.value.id, one.attr) for one in stores if isinstance(one.value, ast.Name))
        return self._writes[itself, name]

    def own_stores(self, name: str) -> Iterator["Store"]:
        """Where methods of this class, whatever it is derived from, set an attribute of their own object."""
        for function in self.methods.values():
            for one in function.stores:
                if one.is_attribute and one.key == name and one.base is function.self_node:
                    yield one

    def annotations(self) -> Iterator[tuple[str, ast.expr]]:
        """What the body of the class says of the attributes of its objects: `x: Tensor`."""
        for one in self.syntax.body:
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
                yield one.target.id, one.annotation

    def field_of(self, name: str) -> Node:
        """The node of the attribute `name`, made when first asked for: that of the class which stores it first."""
        home = next((one for one in self.lineage() if name in one.stored), self)
        if home is not self:
            return home.field_of(name)
        found = self.fields.get(name)
        if found is None:
            found = self.fields[name] = Node(Op.FIELD, self.syntax, (), name, ALWAYS, self.home, None)
        return found


@dataclass(eq=False, slots=True, repr=False)
class Function:
    """A function, a lambda, or the top level of a module: its parameters, its values, what it returns and stores."""

    name: str
    syntax: Definition | ast.Module
    module: "Module"
    parent: "Function | None" = None
    owner: Class | None = None
    parameters: dict[str, Node] = field(default_factory=dict)
    defaults: dict[str, Node] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    returns: list[tuple[Node, Guard]] = field(default_factory=list)
    exit: Guard | None = None
    """What holds where the end of the body is reached; None where it never is."""
    stores: list[Store] = field(default_factory=list)
    finals: Environment = field(default_factory=dict)
    before: dict[ast.stmt, Environment] = field(default_factory=dict)
    after: dict[ast.stmt, Environment] = field(default_factory=dict)
    guards: dict[ast.stmt, Guard] = field(default_factory=dict)
    choices: dict[ast.If | ast.IfExp, Guard] = field(default_factory=dict)
    """What the test of each choice says where it holds."""
    readings: dict[Node, list[tuple[ast.expr, ast.stmt | None]]] = field(default_factory=dict)
    """Where attributes and items are read once more: by these expressions, besides that of their node."""
    yields: bool = False
    decorators: tuple[str, ...] = ()
    """The last parts of the names of its decorators."""
    self_node: Node | None = None
    """The object that a method is called on."""

    def __post_init__(self) -> None:
        found = getattr(self.syntax, "decorator_list", ())
        self.decorators = tuple(ast.unparse(one).partition("(")[0].rpartition(".")[2] for one in found)

    @property
    def is_property(self) -> bool:
        """Whether it is run by reading an attribute of its object."""
        return not PROPERTIES.isdisjoint(self.decorators)

    @property
    def object_node(self) -> Node | None:
        """The object that a method is called on; None of class methods, which get the class."""
        return None if "classmethod" in self.decorators else self.self_node

    def stored_names(self) -> set[str]:
        """The attributes of its object that a method sets."""
        itself = self.self_node
        return {str(one.key) for one in self.stores if one.is_attribute and one.base is itself}


@dataclass(eq=False, slots=True, repr=False)
class Module:
    """One file: all its functions, its top level first, and its classes."""

    tree: ast.Module
    brought: Brought = nothing_brought
    functions: list[Function] = field(default_factory=list)
    classes: list[Class] = field(default_factory=list)
    count: int = 0
    starred: bool = False
    managed: dict[Node, tuple[Node, ...]] = field(default_factory=dict)
    _by_op: dict[Op, list[Node]] = field(default_factory=dict)
    _users: dict[Node, list[Node]] = field(default_factory=dict)
    _read: set[Node] | None = None

    @property
    def top(self) -> Function:
        return self.functions[0]

    def new_function(self, name: str, syntax: Definition, parent: Function, owner: Class | None) -> Function:
        """A function of this file, whose body is not lowered yet."""
        made = Function(name, syntax, self, parent, owner)
        self.functions.append(made)
        return made

    def new_class(self, name: str, syntax: ast.ClassDef, bases: tuple[Node, ...], home: Function) -> Class:
        made = Class(name, syntax, bases, home)
        self.classes.append(made)
        return made

    def give_up(self) -> None:
        """Nothing that is not lowered yet will be."""

    def nodes(self) -> Iterator[Node]:
        """All values, function after function."""
        for function in self.functions:
            yield from function.nodes

    @property
    def stores(self) -> Iterator[Store]:
        """What all functions store in attributes and in containers."""
        return (one for function in self.functions for one in function.stores)

    @property
    def returned(self) -> set[Node]:
        """The values that functions return."""
        return {value for function in self.functions for value, _ in function.returns}

    @property
    def kept(self) -> set[Node]:
        """The values that functions return or store: others may have them."""
        return self.returned | {one.value for one in self.stores}

    def of(self, op: Op) -> Sequence[Node]:
        """The values of one operation, as they were lowered, function after function."""
        if not self._by_op:
            self._indexed()
        return self._by_op.get(op, ())

    @property
    def users(self) -> Mapping[Node, list[Node]]:
        """The values that have each as an operand, one as often as it has it."""
        if not self._by_op:
            self._indexed()
        return self._users

    @property
    def read(self) -> Set[Node]:
        """The joins of branches that something reads: of one that nothing does, the branches may be anything."""
        if self._read is None:
            pending = [one for node in self._readers() for one in node if one.op is Op.PHI]
            self._read = set(pending)
            for phi in pending:  # grows
                fresh = [one for one in phi.args if one.op is Op.PHI and one not in self._read]
                self._read.update(fresh)
                pending += fresh
        return self._read

    def _readers(self) -> Iterator[Iterable[Node]]:
        """What operations, stores, returns, and functions that see a name or an attribute at the end read."""
        yield from (node.args for node in self.nodes() if node.op is not Op.PHI)
        seen = {node.extra for node in self.of(Op.GLOBAL)}
        for function in self.functions:
            yield (value for value, _ in function.returns)
            yield from (filter(None, (one.base, one.value, one.index)) for one in function.stores)
            yield (value for key, value in function.finals.items() if not isinstance(key, str) or key in seen)

    def _indexed(self) -> None:
        """One walk for all who ask. Fields, made later, have no operands; nobody asks for them by operation."""
        by_op, users = self._by_op, self._users
        for node in self.nodes():
            by_op.setdefault(node.op, []).append(node)
            for one in node.args:
                users.setdefault(one, []).append(node)


def forget(module: Module) -> None:
    """Take apart what holds itself, so that all of it is freed at once where nothing collects cycles."""
    module.give_up()
    for node in module.nodes():
        node.args = ()
    for one in module.classes:
        one._lineage = ()
        for table in (one.methods, one.members, one.fields):
            table.clear()
    for function in module.functions:
        function.self_node = None
        for part in (function.nodes, function.returns, function.stores):
            part.clear()
        for environment in (function.parameters, function.defaults, function.finals, function.before, function.after):
            environment.clear()
    for kept in (module.functions, module.classes, module.managed, module._by_op, module._users):
        kept.clear()
    module._read = None


def contradictory(first: Guard, second: Guard) -> bool:
    """Whether no path satisfies both."""
    small, large = (first, second) if len(first) < len(second) else (second, first)
    return any((atom, not holds) in large for atom, holds in small)


def parents(tree: ast.AST) -> dict[ast.AST, ast.AST]:
    """Each syntax node below `tree`, and what it is a part of."""
    return {inner: outer for outer in walk(tree) for inner in ast.iter_child_nodes(outer)}


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """All syntax nodes below `tree`, and itself, in no order: three times as fast as `ast.walk`."""
    pending = [tree]
    while pending:
        one = pending.pop()
        yield one
        for part in vars(one).values():
            if isinstance(part, ast.AST):
                pending.append(part)
            elif isinstance(part, list):
                pending += [each for each in part if isinstance(each, ast.AST)]
