"""One file: its names, its classes, what its top level binds."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from devfix_codemods.project.classes import ClassTable, FileTraits
from devfix_codemods.project.names import Names
from devfix_codemods.project.tree import stored
from devfix_codemods.source import Source

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class TopLevelBinding:
    """What one statement at the top level binds a name to: a definition, an import by its dotted name, or a value."""

    definition: Definition | None = None
    imported: str | None = None


class Unit:
    """One file and what is read off its syntax.

    `asked` says that it was asked what an import means here, `uses` which files the answers came from.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.names = Names(source.tree)
        self.classes = ClassTable(self.names)
        self.traits = FileTraits(self.names)
        self.asked = False
        self.uses: set[str] = set()

    @property
    def path(self) -> str:
        return self.source.path

    @cached_property
    def top_level(self) -> dict[str, list[TopLevelBinding]]:
        """What the top level binds each name to, in the order of the statements."""
        found: dict[str, list[TopLevelBinding]] = {}
        for name, binding in _top_level(self.source.tree.body):
            found.setdefault(name, []).append(binding)
        return found

    @cached_property
    def stars(self) -> tuple[str, ...]:
        """The modules of which the top level imports everything, the last first."""
        stars = [
            _dotted(node)
            for node in self.source.tree.body
            if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        ]
        return tuple(reversed(stars))

    def stars_behind(self, name: str) -> list[str]:
        """How what is imported by a star begins, `.net.`, behind the last that binds a name, if only at times."""
        last = self._places[name][-1]
        stars = zip(self._places.get("*", ()), self.top_level.get("*", ()))
        return [str(one.imported).removesuffix("*") for at, one in stars if at > last]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        """The number of each binding of a name, in the order of the statements."""
        found: dict[str, list[int]] = {}
        for number, (name, _) in enumerate(_top_level(self.source.tree.body)):
            found.setdefault(name, []).append(number)
        return found


def _top_level(body: list[ast.stmt]) -> Iterator[tuple[str, TopLevelBinding]]:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name, TopLevelBinding(definition=node)
            case ast.ImportFrom():
                yield from _imported_from(node)
            case ast.Import():
                yield from ((one.asname or one.name.partition(".")[0], _imported(one)) for one in node.names)
            case ast.If() | ast.Try():
                handlers = node.handlers if isinstance(node, ast.Try) else []
                for block in (node.body, *(one.body for one in handlers), node.orelse):
                    yield from _top_level(block)
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.With():
                yield from ((name, TopLevelBinding()) for name in stored(node))


def _imported_from(node: ast.ImportFrom) -> Iterator[tuple[str, TopLevelBinding]]:
    head = _dotted(node)
    for one in node.names:
        dotted = f"{head}{'' if head.endswith('.') else '.'}{one.name}"
        yield one.asname or one.name, TopLevelBinding(imported=dotted)


def _imported(alias: ast.alias) -> TopLevelBinding:
    return TopLevelBinding(imported=alias.name if alias.asname else alias.name.partition(".")[0])


def _dotted(node: ast.ImportFrom) -> str:
    return "." * node.level + (node.module or "")
