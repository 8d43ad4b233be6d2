"""Who places the values of a file: what its classes derive from, and what it imports."""

import ast
from collections.abc import Callable, Mapping
from functools import cached_property

from devfix_codemods.catalogue import canonical, libraries
from devfix_codemods.project.names import Names

Function = ast.FunctionDef | ast.AsyncFunctionDef


class ClassTable:
    """The classes of one module by name. Names bound twice are left out: which one is meant is not certain.

    `elsewhere` finds a base in another file of the project, and `tables` gives the table of a class of another file, so
    that this one answers for such classes as well. Who knows the project sets both.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._bases: dict[ast.ClassDef, tuple[str, ...]] = {}
        self._methods: dict[ast.ClassDef, dict[str, Function]] = {}
        self._ancestors: dict[ast.ClassDef, list[ast.ClassDef]] = {}
        self._named_bases: dict[ast.ClassDef, tuple[str, ...]] = {}
        self._classes: dict[str, ast.ClassDef | None] = {}
        self.elsewhere: Elsewhere = lambda base: None
        self.tables: Mapping[ast.ClassDef, ClassTable] = {}
        for node in names.classes:
            self._classes[node.name] = None if node.name in self._classes else node

    def bases(self, definition: ast.ClassDef) -> tuple[str, ...]:
        """Qualified names of the bases that the project does not define, found through those that it does.

        One whose name is not resolved stands as it is written.
        """
        if definition not in self._bases:
            self._bases[definition] = tuple(self._table(definition)._foreign_bases(definition, set()))
        return self._bases[definition]

    def is_managed(self, definition: ast.ClassDef) -> bool:
        """Derived from a framework class that places values itself; or from an unknown one, with Lightning's hooks."""
        bases = self.bases(definition)
        if any(
            base.startswith(libraries.MANAGED_BASES) or base.endswith(("LightningModule", "LightningDataModule"))
            for base in self.named_bases(definition)
        ):
            return True
        foreign = any(base not in _PLAIN_BASES and not base.startswith("torch.") for base in bases)
        return foreign and len(libraries.LIGHTNING_HOOKS.intersection(self.methods(definition))) > 1

    def named_bases(self, definition: ast.ClassDef) -> tuple[str, ...]:
        """`bases`, and the names under which bases of the project's other files are imported.

        A project that is itself a framework defines what others only name.
        """
        if definition not in self._named_bases:
            imported = (
                self._table(one)._names.qualified(base)
                for one in (definition, *self.ancestors(definition))
                for base in _written_bases(one)
            )
            names = (canonical(name) for name in imported if name is not None)
            self._named_bases[definition] = (*self.bases(definition), *names)
        return self._named_bases[definition]

    def ancestors(self, definition: ast.ClassDef) -> list[ast.ClassDef]:
        """The bases of a class, and theirs, as far as the project defines them."""
        if definition not in self._ancestors:
            found = [definition]
            for one in found:
                parents = map(self._table(one).named, _written_bases(one))
                found += [parent for parent in parents if parent is not None and parent not in found]
            self._ancestors[definition] = found[1:]
        return self._ancestors[definition]

    def methods(self, definition: ast.ClassDef) -> dict[str, Function]:
        """Methods by name, inherited ones of the project included."""
        if definition in self._methods:
            return self._methods[definition]
        if (table := self._table(definition)) is not self:
            return table.methods(definition)
        found: dict[str, Function] = {}
        self._methods[definition] = found
        for base in reversed(_written_bases(definition)):
            if (parent := self.named(base)) is not None:
                found.update(self.methods(parent))
        found.update(
            {one.name: one for one in definition.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))}
        )
        return found

    def _foreign_bases(self, definition: ast.ClassDef, seen: set[ast.ClassDef]) -> list[str]:
        if definition in seen:
            return []
        seen.add(definition)
        found: list[str] = []
        for base in _written_bases(definition):
            if (parent := self.named(base)) is not None:
                found.extend(self._table(parent)._foreign_bases(parent, seen))
            else:
                qualified = self._names.qualified(base)
                found.append(canonical(qualified) if qualified else ast.unparse(base))
        return found

    def named(self, node: ast.expr) -> ast.ClassDef | None:
        """The class that a base or an annotation names, here or elsewhere in the project."""
        own = self._classes.get(node.id) if isinstance(node, ast.Name) else None
        return own if own is not None else self.elsewhere(node)

    def _table(self, definition: ast.ClassDef) -> "ClassTable":
        return self.tables.get(definition, self)


Elsewhere = Callable[[ast.expr], ast.ClassDef | None]
_PLAIN_BASES = frozenset(
    {"object", "dict", "list", "Exception", "abc.ABC", "typing.Generic", "typing.NamedTuple", "typing.Protocol"}
)
"""Qualified names of bases that place nothing."""


def _written_bases(definition: ast.ClassDef) -> list[ast.expr]:
    """What a class derives from; of a generic class with types, `Operator[Tensor]`, the class."""
    return [one.value if isinstance(one, ast.Subscript) else one for one in definition.bases]


class FileTraits:
    """What the imports of a file say about who places values in it."""

    def __init__(self, names: Names) -> None:
        self._imports = names.imports

    @cached_property
    def managed(self) -> bool:
        """Whether a placement framework is imported at all."""
        return any(top in libraries.MANAGING for top in self._imported())

    def _imported(self) -> set[str]:
        found: set[str] = set()
        for node in self._imports:
            if isinstance(node, ast.Import):
                found.update(alias.name.partition(".")[0] for alias in node.names)
            elif node.module and node.level == 0:
                found.add(node.module.partition(".")[0])
        return found
