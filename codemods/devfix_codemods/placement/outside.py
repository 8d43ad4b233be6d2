"""What imported names are: definitions in other files of the project, lowered when they are asked for."""

import ast
from collections.abc import Callable, Hashable, Iterable

from devfix_codemods.ir import Class, Function, Module, Node, Op, lower
from devfix_codemods.ir.keys import name

Home = Hashable
"""What tells files apart, for whoever finds them."""

Find = Callable[[Home, str], tuple[Home, ast.Module, str] | None]
"""From a file and a dotted name that it imports to the file that defines it, its tree, and the name there."""


class Outside:
    """Definitions by the values that name them, in the file that is analysed and in those around it."""

    def __init__(
        self, home: Home = None, find: Find | None = None, manages: Callable[[ast.ClassDef], bool] | None = None
    ) -> None:
        self._home = home
        self._find = find
        self._manages = manages
        self._homes: dict[Module, Home] = {}
        self._modules: dict[ast.Module, Module] = {}

    @property
    def modules(self) -> Iterable[Module]:
        """The other files that have been read."""
        return self._modules.values()

    def is_managed(self, owner: Class | None) -> bool:
        """Whether a framework, from which the class is derived in whatever file, places what its methods get."""
        return owner is not None and self._manages is not None and self._manages(owner.syntax)

    def definition(self, node: Node) -> Class | Function | None:
        """The class or the function that a value is."""
        module = node.function.module
        if node.op is Op.GLOBAL:
            node = module.top.finals.get(str(node.extra), node)
        if node.op in {Op.CLASS, Op.FUNCTION}:
            assert isinstance(node.extra, Class | Function)
            return node.extra
        found = name(node)
        return self._imported(module, found) if found is not None and self._find is not None else None

    def _imported(self, module: Module, dotted: str) -> Class | Function | None:
        assert self._find is not None
        found = self._find(self._homes.get(module, self._home), dotted)
        if found is None:
            return None
        home, tree, last = found
        other = self._modules.get(tree)
        if other is None:
            other = self._modules[tree] = lower(tree)
            self._homes[other] = home
        made = other.top.finals.get(last)
        return made.extra if made is not None and isinstance(made.extra, Class | Function) else None
