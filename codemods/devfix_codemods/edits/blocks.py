"""Statements put in, replaced and taken out, block by block and line by line."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import libcst as cst
from devfix_codemods.edits import fragments

Whole = cst.SimpleStatementLine | cst.BaseCompoundStatement
Line = cst.SimpleStatementLine | cst.SimpleStatementSuite
Above = Sequence[cst.EmptyLine]


@dataclass(frozen=True, slots=True)
class Insert:
    """New statements; `spaced` ones get a blank line towards other code."""

    code: str
    spaced: bool = False


@dataclass(slots=True)
class Work:
    """What happens at one statement: `swapped` takes its place in its line, `code` as whole statements."""

    before: list[Insert] = field(default_factory=list)
    after: list[Insert] = field(default_factory=list)
    swapped: cst.BaseSmallStatement | None = None
    code: str | None = None
    removed: bool = False


WorkAt = Callable[[cst.CSTNode], Work | None]


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of a line: as the one small statement that it may be, and as whole statements.

    `own` pieces stood there before, or stand for what did.
    """

    small: cst.BaseSmallStatement | None
    whole: Sequence[Whole] = ()
    own: bool = True
    spaced: bool = False


@dataclass(slots=True)
class _Row:
    """One statement of a block, its leading lines still to be given."""

    statement: Whole
    own: bool
    spaced: bool = False

    def lead(self, lines: Above) -> None:
        self.statement = self.statement.with_changes(leading_lines=[*lines, *self.statement.leading_lines])

    def starts_blank(self) -> bool:
        above = self.statement.leading_lines
        return bool(above) and above[0].comment is None


class Blocks:
    """Rebuilds the blocks in which something happens. Old nodes say where; updated ones carry the edits inside."""

    def __init__(self, work_at: WorkAt) -> None:
        self._work_at = work_at

    def module(self, old: cst.Module, new: cst.Module) -> cst.Module:
        """The module with its statements rebuilt; what heads the file stays at its top."""
        work = self._work_at(old)
        if work is not None:
            return _filled(new, work.after)
        if not self._concerned(old.body):
            return new
        header, body = _without_description(new)
        statements, carried = self._rebuilt(old.body, body)
        return new.with_changes(header=header, body=statements, footer=[*carried, *new.footer])

    def block(self, old: cst.IndentedBlock, new: cst.IndentedBlock) -> cst.IndentedBlock:
        """The indented block with its statements rebuilt; `pass` where none is left."""
        if not self._concerned(old.body):
            return new
        statements, carried = self._rebuilt(old.body, _whole(new.body))
        if not statements:
            return new.with_changes(body=[cst.SimpleStatementLine([cst.Pass()], leading_lines=carried)])
        return new.with_changes(body=statements, footer=[*carried, *new.footer])

    def suite(self, old: cst.SimpleStatementSuite, new: cst.SimpleStatementSuite) -> cst.BaseSuite:
        """A suite beside its colon: longer where small statements join it, else turned into a block."""
        if not self._concerned([old]):
            return new
        pieces = self._pieces(old, new)
        if not pieces:
            return new.with_changes(body=[cst.Pass(semicolon=new.body[-1].semicolon)])
        smalls = [piece.small for piece in pieces if piece.small is not None]
        if len(smalls) == len(pieces):
            return new.with_changes(body=_in_line(smalls, new))
        rows = list(_rows(pieces, new))
        _keep_line_end(rows, new.trailing_whitespace)
        return cst.IndentedBlock([row.statement for row in rows])

    def _concerned(self, body: Sequence[cst.CSTNode]) -> bool:
        return any(self._work_at(anchor) for statement in body for anchor in _anchors(statement))

    def _rebuilt(self, old: Sequence[cst.CSTNode], new: Sequence[Whole]) -> tuple[list[Whole], Above]:
        """The new statements, and the comments above removed ones that no statement follows."""
        rows: list[_Row] = []
        carried: Above = ()
        for before, after in zip(old, new):
            above = [*carried, *after.leading_lines]
            added = list(self._statement_rows(before, after.with_changes(leading_lines=())))
            _lead(added, above)
            rows += added
            carried = () if added else above
        _set_apart(rows)
        return [row.statement for row in rows], carried

    def _statement_rows(self, old: cst.CSTNode, new: Whole) -> list[_Row]:
        if isinstance(old, cst.SimpleStatementLine) and isinstance(new, cst.SimpleStatementLine):
            rows = list(_rows(self._pieces(old, new), new))
            _keep_line_end(rows, new.trailing_whitespace)
            return rows
        work = self._work_at(old) or Work()
        own = [] if work.removed else [_Row(new, own=True)]
        return [*_inserted(work.before), *own, *_inserted(work.after)]

    def _pieces(self, old: Line, new: Line) -> list[_Piece]:
        pairs = zip(old.body, new.body)
        return [piece for before, after in pairs for piece in _small_pieces(after, self._work_at(before) or Work())]


def _anchors(statement: cst.CSTNode) -> Sequence[cst.CSTNode]:
    if isinstance(statement, cst.SimpleStatementLine | cst.SimpleStatementSuite):
        return statement.body
    return (statement,)


def _small_pieces(small: cst.BaseSmallStatement, work: Work) -> Iterator[_Piece]:
    yield from map(_inserted_piece, work.before)
    if work.code is not None:
        replacement = fragments.small_statement(work.code)
        if replacement is not None:
            replacement = replacement.with_changes(semicolon=small.semicolon)
        yield _Piece(replacement, fragments.statements(work.code))
    elif not work.removed:
        yield _Piece(work.swapped or small)
    yield from map(_inserted_piece, work.after)


def _inserted_piece(insert: Insert) -> _Piece:
    code = insert.code
    return _Piece(fragments.small_statement(code), fragments.statements(code), own=False, spaced=insert.spaced)


def _inserted(inserts: Sequence[Insert]) -> list[_Row]:
    return [_Row(one, False, insert.spaced) for insert in inserts for one in fragments.statements(insert.code)]


def _rows(pieces: Sequence[_Piece], line: Line) -> Iterator[_Row]:
    """The lines that a line becomes: new small statements between old ones stay on theirs, others get their own."""
    own = [index for index, piece in enumerate(pieces) if piece.own]
    together: list[cst.BaseSmallStatement] = []
    for index, piece in enumerate(pieces):
        inside = bool(own) and own[0] <= index <= own[-1]
        if piece.small is not None and inside:
            together.append(piece.small)
            continue
        if together:
            yield _Row(cst.SimpleStatementLine(_in_line(together, line)), own=True)
            together = []
        yield from (_Row(one, piece.own, piece.spaced) for one in piece.whole)
    if together:
        yield _Row(cst.SimpleStatementLine(_in_line(together, line)), own=True)


def _in_line(smalls: Sequence[cst.BaseSmallStatement], line: Line) -> list[cst.BaseSmallStatement]:
    """The statements of one line. Only a semicolon that ended the old line may end it."""
    *others, last = smalls
    if last.semicolon is not line.body[-1].semicolon:
        last = last.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)
    return [*others, last]


def _keep_line_end(rows: Sequence[_Row], end: cst.TrailingWhitespace) -> None:
    """Leave the comment at the end of a line, and the line end itself, with what stood there."""
    own = [row for row in rows if row.own]
    simple = [row for row in own if isinstance(row.statement, cst.SimpleStatementLine)]
    if simple and (simple[-1] is own[-1] or end.comment is not None):
        simple[-1].statement = simple[-1].statement.with_changes(trailing_whitespace=end)
    elif own and end.comment is not None:
        own[0].lead([cst.EmptyLine(comment=end.comment)])


def _lead(rows: Sequence[_Row], above: Above) -> None:
    """Give the lines above a statement to what takes its place; a comment right above it stays right above it."""
    first_own = next((index for index, row in enumerate(rows) if row.own), 0)
    attached = len(above)
    while first_own and attached and above[attached - 1].comment is not None:
        attached -= 1
    if rows:
        rows[first_own].lead(above[attached:])
        rows[0].lead(above[:attached])


def _set_apart(rows: Sequence[_Row]) -> None:
    for row, following in pairwise(rows):
        if row.spaced != following.spaced and not following.starts_blank():
            following.lead([cst.EmptyLine(indent=False)])


def _whole(body: Sequence[cst.BaseStatement]) -> list[Whole]:
    """The statements of a block, which are all of one of two kinds."""
    return [one for one in body if isinstance(one, Whole)]


def _without_description(module: cst.Module) -> tuple[Above, Sequence[Whole]]:
    """The header and the body, the comments that stand right above the first statement moved to it.

    The first two lines may be an interpreter and an encoding, and comments from the first line on describe the file.
    """
    header, (first, *rest) = module.header, module.body
    start = len(header)
    while start and header[start - 1].comment is not None:
        start -= 1
    start = max(start, 2) if start else len(header)
    first = first.with_changes(leading_lines=[*header[start:], *first.leading_lines])
    return header[:start], [first, *rest]


def _filled(module: cst.Module, inserts: Sequence[Insert]) -> cst.Module:
    """A module without statements, with its first ones."""
    body = [row.statement for row in _inserted(inserts)]
    header = [*module.header, *module.footer]
    return module.with_changes(header=header, body=body, footer=())
