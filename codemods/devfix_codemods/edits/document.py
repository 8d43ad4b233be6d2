"""A file as libcst sees it, with its nodes found by the positions that `ast` gives them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst
from devfix_codemods.edits import depth
from devfix_codemods.edits.errors import NotEditable
from devfix_codemods.edits.lines import restored
from devfix_codemods.source import Source, SourceError, Span
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement
Place = tuple[int, int]

_BLANK = b" \t\f\r\n"
"""What may end a file. libcst loses lines there, so it goes round the parser."""


@dataclass(frozen=True)
class Document:
    """One parsed file. libcst trees never change, so a document serves any number of edits."""

    source: Source
    body: bytes
    module: cst.Module
    ranges: dict[cst.CSTNode, CodeRange]
    expressions: dict[Span, cst.BaseExpression]
    statements: dict[Place, Statement]

    def written(self, changed: cst.Module) -> bytes:
        """The bytes of `changed`, a descendant of `module`; lines that are not new are those of the file.

        Raises:
            FormattingLost: an edit falls on a line that libcst does not write as it was.
        """
        blank_end = self.source.data[len(self.body) :] if self.source.data else b"\n"
        body = self.body.decode(self.source.encoding)
        return restored(body, self.module.code, changed.code).encode(self.source.encoding) + blank_end

    def expression(self, span: Span) -> cst.BaseExpression | None:
        """The expression that `ast` puts at `span`."""
        return self.expressions.get(span)

    def statement(self, span: Span) -> Statement | None:
        """The statement that `ast` puts at `span`, an `elif` among them."""
        found = self.statements.get(span.start)
        if found is None or self.ranges[found].end.line != span.end_line:
            return None
        return found

    def chain_head(self, statement: Statement) -> Statement:
        """The `if` that begins the chain in which `statement` is an `elif`; any other statement itself."""
        before: dict[cst.CSTNode | None, cst.If] = {
            node.orelse: node for node in self.statements.values() if isinstance(node, cst.If)
        }
        while statement in before:
            statement = before[statement]
        return statement

    def siblings(self, statement: Statement) -> list[Statement]:
        """The statements of the block that holds the small statement `statement`, in order."""
        for block in (self.module, *self.ranges):
            if isinstance(block, cst.Module | cst.IndentedBlock):
                lines = [_small(line) for line in block.body]
                if any(statement in line for line in lines):
                    return [one for line in lines for one in line]
            elif isinstance(block, cst.SimpleStatementSuite) and statement in block.body:
                return list(block.body)
        return [statement]

    def start(self, node: cst.CSTNode) -> Place:
        """Where `node` begins, its own brackets and decorators apart."""
        start = self.ranges[node].start
        return (start.line, start.column)

    def outset(self, statement: cst.CSTNode) -> Place:
        """Where `statement` begins, its decorators included."""
        if isinstance(statement, cst.FunctionDef | cst.ClassDef) and statement.decorators:
            return self.start(statement.decorators[0])
        return self.start(statement)

    def end(self, node: cst.CSTNode) -> Place:
        """Where `node` ends, its own brackets apart."""
        end = self.ranges[node].end
        return (end.line, end.column)

    def neighbours(self, node: cst.BaseExpression) -> tuple[str, str]:
        """The characters just before and after `node` and its brackets; empty at the ends of a line."""
        line, column = self.start(node.lpar[0] if node.lpar else node)
        end_line, end_column = self.end(node.rpar[-1] if node.rpar else node)
        before = self.source.lines[line - 1][:column][-1:]
        return before, self.source.lines[end_line - 1][end_column : end_column + 1]


@lru_cache(maxsize=2)
def document(source: Source) -> Document:
    """Parse `source` for editing.

    Raises:
        NotEditable: it does not parse, is nested too deeply, or has line ends that new ones would run into.
    """
    try:
        if source.newline == "\r" and "\n" in source.text:
            raise NotEditable("its line ends mix lone carriage returns with line feeds")
        if depth.depth(source.tree) > depth.MAX_DEPTH:
            raise NotEditable("nested too deeply to edit safely")
        body = source.data.rstrip(_BLANK)
        if body.endswith(b"\\"):  # it goes on in what is blank, without which it is no Python
            body = source.data
        module = cst.parse_module(body.decode(source.encoding))
    except SourceError as error:
        raise NotEditable(str(error)) from error
    except cst.ParserSyntaxError as error:
        reason = error.message.strip().splitlines()[0]
        raise NotEditable(f"libcst, which keeps the formatting, does not parse it: {reason}") from error
    if not {*b"\r\n"} & {*body}:
        module = module.with_changes(default_newline=source.newline)  # which the body alone does not show
    return _indexed(source, body, module)


def _indexed(source: Source, body: bytes, module: cst.Module) -> Document:
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)  # a tree fresh from the parser shares no nodes
    ranges: dict[cst.CSTNode, CodeRange] = dict(wrapper.resolve(PositionProvider))
    expressions: dict[Span, cst.BaseExpression] = {}
    statements: dict[Place, Statement] = {}
    for node, where in ranges.items():
        if isinstance(node, cst.BaseExpression):
            expressions[_bracketed(node, where, ranges)] = node
        elif isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            statements[where.start.line, where.start.column] = node
    for call in [node for node in expressions.values() if isinstance(node, cst.Call)]:
        _add_sole_generator(call, ranges, expressions)
    return Document(source, body, module, ranges, expressions, statements)


def _small(line: cst.BaseStatement) -> Sequence[Statement]:
    if isinstance(line, cst.SimpleStatementLine):
        return line.body
    return (line,) if isinstance(line, cst.BaseCompoundStatement) else ()


def _span(start: CodeRange, end: CodeRange) -> Span:
    return Span(start.start.line, start.start.column, end.end.line, end.end.column)


def _bracketed(node: cst.BaseExpression, where: CodeRange, ranges: dict[cst.CSTNode, CodeRange]) -> Span:
    """The span that `ast` gives: for a tuple or a generator, its innermost brackets belong to it."""
    if isinstance(node, cst.Tuple | cst.GeneratorExp) and node.lpar:
        return _span(ranges[node.lpar[-1]], ranges[node.rpar[0]])
    return _span(where, where)


def _add_sole_generator(
    call: cst.Call, ranges: dict[cst.CSTNode, CodeRange], expressions: dict[Span, cst.BaseExpression]
) -> None:
    """`ast` lends the brackets of a call to a generator that is its one argument."""
    if len(call.args) != 1:
        return
    value = call.args[0].value
    if isinstance(value, cst.GeneratorExp) and not value.lpar:
        opening, end = ranges[call.whitespace_before_args].start, ranges[call].end
        expressions[Span(opening.line, opening.column - 1, end.line, end.column)] = value
