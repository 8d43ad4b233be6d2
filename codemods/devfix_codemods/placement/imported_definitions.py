"""What imported names are: definitions in other files of the project, lowered when they are asked for."""

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from devfix_codemods.ir import Class, Function, Module, Node, Op, lower
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.ir.nodes import Brought, nothing_brought
from devfix_codemods.placement.summaries import Call, Plain, Wanted

Home = Hashable
"""What tells files apart, for whoever finds them."""

Find = Callable[[Home, str], tuple[Home, ast.Module, str] | None]
"""From a file and a dotted name that it imports to the file whose top level binds it, its tree, and the name there."""

Answer = TypeVar("Answer")


class ImportedDefinitions:
    """Definitions by the values that name them, in the file that is analysed and in those around it."""

    def __init__(
        self,
        home: Home = None,
        find: Find | None = None,
        manages: Callable[[ast.ClassDef], bool] | None = None,
        data: Callable[[], Iterable[tuple[Home, ast.Module]]] | None = None,
        wanted: Callable[[Home, Function], Mapping[str, Wanted]] | None = None,
        callers: Callable[[str], Iterable[tuple[str, Call]]] | None = None,
        plain: Callable[[str], Iterable[tuple[str, Plain]]] | None = None,
        importing: Callable[[str], Iterable[tuple[Home, ast.Module]]] | None = None,
        lowered: Callable[[Home], Module | None] = lambda _: None,
        brought: Brought = nothing_brought,
    ) -> None:
        self.brought = brought
        """What the star imports of the file that is analysed bind."""
        self._home = home
        self._find = find
        self._manages = manages
        self._data = data
        self._wanted = wanted
        self._callers = callers
        self._plain = plain
        self._importing = importing
        self._shared = lowered
        self._calls: dict[str, list[tuple[str, Call]]] = {}
        self._callers_of: dict[str, list[tuple[Home, ast.Module]]] = {}
        self._plainly: dict[str, list[tuple[str, Plain]]] = {}
        self._managed: dict[Class, bool] = {}
        self._homes: dict[Module, Home] = {}
        self._modules: dict[ast.Module, Module] = {}
        self._places: dict[tuple[Home, str], tuple[Home, ast.Module, str] | None] = {}
        self.own_modules: list[Module] = []
        """The other files that were lowered for this analysis alone."""

    def is_of(self, module: Module) -> None:
        """Say which file is analysed: others may name what it defines."""
        self._modules[module.tree] = module

    def is_spoken_of(self, called: str) -> bool:
        """Whether a file that imports this one speaks of what is `called` so."""
        return bool(self._speaking(called))

    def importing(self, called: str) -> Iterator[Module]:
        """The files that import this one and speak of what is `called` so."""
        yield from (self._lowered(*one) for one in self._speaking(called))

    def _speaking(self, called: str) -> list[tuple[Home, ast.Module]]:
        return _asked_once(called, self._importing, self._callers_of)

    @property
    def collating(self) -> list[Module]:
        """The other files that speak of collating, among those that this one, or its callers, may have data from."""
        return [self._lowered(*one) for one in self._data()] if self._data is not None else []

    def is_managed(self, owner: Class | None) -> bool:
        """Whether a framework, from which the class is derived in whatever file, places what its methods get."""
        if owner is None or self._manages is None:
            return False
        if owner not in self._managed:
            self._managed[owner] = self._manages(owner.syntax)
        return self._managed[owner]

    def wanted(self, function: Function) -> Mapping[str, Wanted]:
        """Which parameters of a function of another file belong on the device that which parameter names."""
        home = self._homes.get(function.module)
        return self._wanted(home, function) if home is not None and self._wanted is not None else {}

    def calls(self, called: str) -> Iterable[tuple[str, Call]]:
        """The calls, in files that import this one, of what is `called` so among others, each with the name here."""
        return _asked_once(called, self._callers, self._calls)

    def plain(self, called: str) -> Iterable[tuple[str, Plain]]:
        """The same of calls that give arrays, lists or numbers."""
        return _asked_once(called, self._plain, self._plainly)

    def definition(self, node: Node) -> Class | Function | None:
        """The class or the function that a value is."""
        module = node.function.module
        node = resolved(node)
        if node.op in {Op.CLASS, Op.FUNCTION}:
            assert isinstance(node.extra, Class | Function)
            return node.extra
        found = name(node)
        return self._imported(module, found) if found is not None else None

    def class_of(self, node: Node) -> Class | None:
        """The class that a value is, as `definition`; what is not written as classes are is not looked for."""
        if node.op is Op.CLASS:
            assert isinstance(node.extra, Class)
            return node.extra
        last = (name(node) or "").rpartition(".")[2]
        found = self.definition(node) if last[:1].isupper() and not (name(node) or "").startswith("torch.") else None
        return found if isinstance(found, Class) else None

    def lineage(self, owner: Class) -> Iterator[Class]:
        """A class, and those that it is derived from, in whatever files."""
        pending = [owner]
        for one in pending:  # grows by the bases of each
            yield one
            bases = map(self.definition, one.bases)
            pending += [base for base in bases if isinstance(base, Class) and base not in pending]

    def is_bound(self, node: Node) -> bool:
        """Whether a value is imported from a file of the project; nothing is lowered for that."""
        found = name(node)
        return found is not None and self._place(node.function.module, found) is not None

    def value(self, node: Node) -> Node | None:
        """What the top level of another file binds an imported name to, if it is no class and no function."""
        found = name(node)
        made = self._bound(node.function.module, found) if found is not None else None
        return made if made is not None and made.op not in {Op.CLASS, Op.FUNCTION} else None

    def _imported(self, module: Module, dotted: str) -> Class | Function | None:
        made = self._bound(module, dotted)
        return made.extra if made is not None and isinstance(made.extra, Class | Function) else None

    def _bound(self, module: Module, dotted: str) -> Node | None:
        found = self._place(module, dotted)
        if found is None:
            return None
        home, tree, last = found
        return self._lowered(home, tree).top.finals.get(last)

    def _place(self, module: Module, dotted: str) -> tuple[Home, ast.Module, str] | None:
        """The file whose top level binds a name that another one imports."""
        if self._find is None:
            return None
        home = self._homes.get(module, self._home)
        key = (home, dotted)
        if key not in self._places:
            self._places[key] = self._find(home, dotted)
        return self._places[key]

    def _lowered(self, home: Home, tree: ast.Module) -> Module:
        found = self._modules.get(tree)
        if found is None:
            found = self._shared(home)
            if found is None:
                found = lower(tree)
                self.own_modules.append(found)
            self._modules[tree] = found
            self._homes[found] = home
        return found


def _asked_once(
    name: str, ask: Callable[[str], Iterable[Answer]] | None, known: dict[str, list[Answer]]
) -> list[Answer]:
    if name not in known:
        known[name] = list(ask(name)) if ask is not None else []
    return known[name]
