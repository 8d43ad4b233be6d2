"""The user's files, each read once, and where things stand in them."""

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from devfix_codemods import scope
from devfix_codemods.assumptions.index import Index
from devfix_codemods.diagnosis.records import Diagnosis, Frame
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.nodes import Environment
from devfix_codemods.program import Program
from devfix_codemods.repairs.points import bound
from devfix_codemods.source import Source, SourceError, Span

_BUILT_IN = frozenset(dir(builtins))
_FOREIGN = frozenset({"site-packages", "dist-packages"})


@dataclass(frozen=True)
class Project:
    """All files of a diagnosis that may be edited, by the names that it uses for them."""

    sources: Mapping[str, Source]
    frames: tuple[Frame, ...] = ()
    _programs: dict[str, Program | None] = field(default_factory=dict)
    _indices: dict[str, Index] = field(default_factory=dict)

    @classmethod
    def of(cls, diagnosis: Diagnosis, sources: Mapping[str, Source]) -> "Project":
        return cls(sources, diagnosis.frames)

    def program(self, file: str | None) -> Program | None:
        """The file, parsed; None where it is not the user's, or does not parse."""
        if file is None or file not in self.sources or _FOREIGN & set(PurePosixPath(file).parts):
            return None
        if file not in self._programs:
            self._programs[file] = _parsed(self.sources[file])
        return self._programs[file]

    def index(self, file: str) -> Index:
        """The values of a file that is the user's."""
        if file not in self._indices:
            program = self.program(file)
            assert program is not None
            self._indices[file] = program.index
        return self._indices[file]

    def function(self, file: str, statement: ast.stmt) -> Function:
        """The function in which a statement stands, or the script."""
        module = self.index(file).analysis.module
        return next((one for one in module.functions if statement in one.before), module.top)

    def values(self, file: str, text: str, statement: ast.stmt) -> list[Node]:
        """What an expression is at a statement: what is computed there under that text, or bound under that name."""
        index, function, asked = self.index(file), self.function(file, statement), parse(text)
        here = (one for one in function.nodes if one.statement is statement)
        wanted = ast.unparse(asked) if asked is not None else ""
        found = [value for one in here for written, value in _written(one) if ast.unparse(written) == wanted]
        environment = function.before.get(statement, index.analysis.module.top.finals)
        value = _bound(asked, environment, function) if asked is not None else None
        return list(dict.fromkeys(found or ([value] if value is not None else [])))

    def mentioning(self, *words: str) -> Iterator[tuple[str, Program]]:
        """The files in which one of `words` stands; only those are parsed."""
        for file in self.sources:
            if any(word.encode() in self.sources[file].data for word in words):
                program = self.program(file)
                if program is not None:
                    yield file, program

    def statement(self, file: str | None, line: int | None) -> ast.stmt | None:
        """The innermost statement that runs at a line."""
        program = self.program(file)
        if program is None or line is None:
            return None
        found = scope.statements_at(program, line)
        return found[-1] if found else None

    def bound_at(self, file: str, statement: ast.stmt) -> set[str]:
        """The names that are surely bound at `statement`, given how far the file itself had run."""
        program = self.program(file)
        if program is None:
            return set()
        running = [one.line for one in self.frames if one.file == file and one.function == "<module>"]
        return scope.bound_at(program, statement, running[0] if running else None) | _BUILT_IN


def _written(node: Node) -> Iterator[tuple[ast.expr, Node]]:
    """The expressions of a value and of its operands, with what they are."""
    match node.syntax:
        case ast.Call(func=function, args=args, keywords=keywords) if node.op is Op.CALL:
            parts: list[ast.expr] = [function, *args, *(one.value for one in keywords)]
        case ast.Attribute(value=value) | ast.Subscript(value=value) if node.op in {Op.ATTR, Op.ITEM}:
            parts = [value]
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case _:
            parts = []
    if isinstance(node.syntax, ast.expr):
        yield node.syntax, node
    yield from zip(parts, node.args)


def _bound(expression: ast.expr, environment: Environment, function: Function) -> Node | None:
    match expression:
        case ast.Name(id=name):
            return bound(environment, function, name)
        case ast.Attribute(value=inner, attr=name):
            base = _bound(inner, environment, function)
            return environment.get((base, name)) if base is not None else None
    return None


def _parsed(source: Source) -> Program | None:
    program = Program(source)
    try:
        _ = program.tree
    except SourceError:
        return None
    return program


def expressions_in(program: Program, span: Span) -> Iterator[ast.expr]:
    """The expressions inside `span`, the outermost first."""
    for node in scope.nodes_on(program.tree, span.line, span.end_line):
        if isinstance(node, ast.expr) and span.contains(program.source.span(node)):
            yield node


def expression_at(program: Program, span: Span) -> ast.expr | None:
    """The expression that stands exactly at `span`."""
    return next((one for one in expressions_in(program, span) if program.source.span(one) == span), None)


def calls_on(program: Program, line: int) -> Iterator[ast.Call]:
    """The calls that reach over `line`, the innermost first: the one that runs at a line is rarely the widest."""
    found = [one for one in program.names.calls if one.lineno <= line <= (one.end_lineno or one.lineno)]
    yield from sorted(found, key=lambda one: ((one.end_lineno or 0) - one.lineno, -one.col_offset))


def parse(text: str) -> ast.expr | None:
    """An expression by its text."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        return None
