"""Functions inside of others that are called where they stand: what they see there, and what they rebind."""

import ast
from collections.abc import Iterator

from devfix_codemods.ir.nodes import ALWAYS, Environment, Function, Node, Op, walk


class Sites:
    """The calls of one function in the function around it."""

    def __init__(self, function: Function) -> None:
        self._function = function
        self._calls: list[ast.Call] = []
        self._seen: list[Environment] = []
        self._rebound: list[tuple[str, Node]] = []

    def add(self, call: ast.Call, seen: Environment, rebound: dict[str, Node]) -> None:
        """A call, what is bound before it, and the phis that stand for what the function rebinds by `nonlocal`."""
        self._calls.append(call)
        self._seen.append(seen)
        self._rebound += rebound.items()

    def rebinds(self) -> Iterator[str]:
        """The names of the function around it that the function binds."""
        for one in walk(self._function.syntax):
            if isinstance(one, ast.Nonlocal):
                yield from one.names

    @property
    def are_rebinding(self) -> bool:
        """Whether what comes after a call depends on the body of the function."""
        return bool(self._rebound)

    def seen(self) -> Environment:
        """What the function sees that nothing else calls; nothing where it may be called later as well."""
        if not self._calls or not self._are_all():
            return {}
        names = {name for one in self._seen for name in one if isinstance(name, str)}
        return {name: self._merged([one[name] for one in self._seen if name in one]) for name in names}

    def _are_all(self) -> bool:
        syntax, parent = self._function.syntax, self._function.parent
        if isinstance(syntax, ast.Lambda):
            return [one.func for one in self._calls] == [syntax]
        if not isinstance(syntax, ast.FunctionDef) or parent is None or not isinstance(parent.syntax, _FUNCTIONS):
            return False
        around = list(walk(parent.syntax))
        named = [one for one in around if isinstance(one, ast.Name) and one.id == syntax.name]
        return len(named) == len(self._calls) and not (_is_generator(syntax) and any(map(self._keeps, around)))

    def _keeps(self, one: ast.AST) -> bool:
        """Whether what a call gives has a name first: the body of a generator runs when that is read."""
        value = one.value if isinstance(one, ast.Assign | ast.NamedExpr) else None
        given = [value]
        for each in given:  # grows
            if isinstance(each, ast.Call) and not (isinstance(each.func, ast.Name) and each.func.id in _READING):
                given += each.args
        return any(each in self._calls for each in given)

    def _merged(self, values: list[Node]) -> Node:
        different = tuple(dict.fromkeys(values))
        parent = self._function.parent
        if len(different) == 1 or parent is None:
            return different[0]
        return Node(Op.PHI, parent.syntax, different, (ALWAYS,) * len(different), ALWAYS, parent, None)

    def ended(self, bound: Environment) -> None:
        """What is bound at the end of the function is what its callers go on with."""
        for name, phi in self._rebound:
            value = bound.get(name, phi)
            if value is not phi:
                phi.args, phi.extra = (value,), (ALWAYS,)


def _is_generator(syntax: ast.FunctionDef) -> bool:
    """Whether a function yields, and not only one inside of it."""
    pending: list[ast.AST] = [*syntax.body]
    for one in pending:  # grows
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            pending += ast.iter_child_nodes(one)
    return False


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_READING = frozenset(["all", "any", "dict", "list", "max", "min", "next", "set", "sorted", "sum", "tuple"])
"""What reads all that a generator gives, or its first value, at once."""
