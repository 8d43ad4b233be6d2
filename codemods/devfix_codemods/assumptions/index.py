"""Values of a file by the syntax that computes them, who uses them, and what stands around them."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

from devfix_codemods.ir import Function, Module, Node, Op
from devfix_codemods.ir.keys import names, resolved
from devfix_codemods.ir.nodes import Store, parents
from devfix_codemods.ir.passing import written
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.source import Source, Span


class Users:
    """Who uses the values of one file: other values, reads of names of the module, stores, functions that return."""

    def __init__(self, module: Module) -> None:
        self.users: dict[Node, list[Node]] = defaultdict(list)
        self.reads: dict[Node, list[Node]] = defaultdict(list)
        self.stores: dict[Node, list[Store]] = defaultdict(list)
        self.returned: dict[Node, list[Function]] = defaultdict(list)
        for node in module.nodes():
            for one in dict.fromkeys(node.args):
                self.users[one].append(node)
            if node.op is Op.GLOBAL:
                self.reads[resolved(node)].append(node)
        for function in module.functions:
            for store in function.stores:
                self.stores[store.value].append(store)
            for value, _ in function.returns:
                self.returned[value].append(function)


class Index(Users):
    """One file: its values, by syntax and by use."""

    def __init__(self, analysis: Analysis, source: Source) -> None:
        super().__init__(analysis.module)
        self.analysis = analysis
        self.source = source
        self.origins = analysis.origins
        self.nodes: dict[ast.AST, Node] = {}
        self.numbered: dict[int, Node] = {}
        for node in analysis.module.nodes():
            self.numbered[node.index] = node
            if node.syntax is not None and node.op is not Op.PHI:
                self.nodes.setdefault(node.syntax, node)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Each piece of syntax, and what it is a part of."""
        return parents(self.analysis.module.tree)

    @cached_property
    def calls(self) -> list[Node]:
        """The calls of the file that spell what they give, in the order of the source."""
        calls = (one for one in self.analysis.module.of(Op.CALL) if written(one) is not None)
        found = {one.syntax: one for one in calls}.values()  # a comprehension makes several of one
        return sorted(found, key=lambda one: (one.line, getattr(one.syntax, "col_offset", 0)))

    def ancestors(self, syntax: ast.AST) -> Iterator[ast.AST]:
        """What stands around a piece of syntax, the innermost first."""
        outer = self.parents.get(syntax)
        while outer is not None:
            yield outer
            outer = self.parents.get(outer)

    def callers(self, function: Function) -> list[Node]:
        """The calls that surely run a function of this file."""
        return [call for call, called in self.analysis.kinds.calls.items() if called is function]

    def text(self, syntax: ast.AST) -> str:
        """A piece of syntax as the file spells it."""
        return self.source.segment(self.source.span(syntax))

    def span(self, node: Node) -> Span:
        """Where the source computes a value."""
        assert node.syntax is not None
        return self.source.span(node.syntax)


def called(node: Node, *qualified: str) -> bool:
    """Whether a value is the result of a call of something by its qualified name."""
    return node.op is Op.CALL and any(one in qualified for one in names(node.args[0]))


def closed(written: ast.expr, text: str) -> str:
    """The text of an expression, with brackets where an attribute of it needs them."""
    return text if isinstance(written, ast.Name | ast.Attribute | ast.Call | ast.Subscript) else f"({text})"


def unindented(text: str, statement: ast.stmt) -> str:
    """A text out of a statement, its later lines without the indentation of the first: edits indent every line anew."""
    return re.sub(rf"(?<=\n)[ \t]{{0,{statement.col_offset}}}", "", text)


def method(node: Node) -> str | None:
    """The name of the method that a call runs on a value."""
    if node.op is not Op.CALL or node.args[0].op is not Op.ATTR or names(node.args[0]):
        return None
    return str(node.args[0].extra)
