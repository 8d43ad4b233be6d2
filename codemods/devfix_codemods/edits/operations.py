"""The edits that a fix is made of: plain data, anchored at positions that the analysis found.

A rule decides and describes; `edits.apply` turns the descriptions into one libcst pass. All spans are those of `ast`
nodes (`Source.span`), so a parenthesised expression is named without its parentheses.
"""

from dataclasses import dataclass
from typing import Literal

from devfix_codemods.source import Span

NODE = "__node__"
"""Stands for the original expression inside the code of a `ReplaceExpression`."""


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """Put `code` (whole statements, unindented) before or after the statement at `anchor`, at its indentation.

    Equal inserts of several fixes at one anchor are made once. Different ones stand in the order of `rank`, whichever
    fix comes first. A `spaced` one gets a blank line towards the code around it.
    """

    anchor: Span
    where: Literal["before", "after"]
    code: str
    rank: tuple[int, ...] = ()
    spaced: bool = False


@dataclass(frozen=True, slots=True)
class ReplaceExpression:
    """Put `code` in the place of the expression at `span`. `__node__` in it is the original as edited.

    The original is put in brackets where the precedence of `code` needs it: `__node__.to(device)` over `a + b` gives
    `(a + b).to(device)`.
    """

    span: Span
    code: str


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a rewritten call: an index into the original arguments, or new code; then its keyword."""

    value: int | str
    keyword: str | None = None


@dataclass(frozen=True, slots=True)
class RewriteCall:
    """Give the call at `span` another callee (`function`, or None to keep it) and another argument list.

    `method`, in place of `function`, is another method of the same receiver, which stays as it is. `arguments` is None
    to keep the list. Original arguments keep their own formatting, comments and stars; an argument that changes neither
    place nor keyword is untouched. A decorator written as a bare name is not a call: use `ReplaceExpression`.
    """

    span: Span
    function: str | None = None
    arguments: tuple[Argument, ...] | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveStatement:
    """Delete the statement at `span` with its own line, keeping comments above it; `pass` where a block empties."""

    span: Span


@dataclass(frozen=True, slots=True)
class ReplaceStatement:
    """Put `code` (whole statements) in the place of the simple statement at `span`; comments beside it stay."""

    span: Span
    code: str


@dataclass(frozen=True, slots=True)
class MoveImportedName:
    """In the `from M import …` at `span`, import `name` from `module` instead (its alias stays).

    Where no name stays behind, the statement itself becomes the import from the module to which its first name moves.
    Any other name leaves the list and joins an existing `from module import …` in the same block, or a new one after
    the statement.
    """

    span: Span
    name: str
    module: str


@dataclass(frozen=True, slots=True)
class AddImport:
    """Make `import module` (or `from module import name`) hold at module level, beside the imports that are there.

    Nothing is added where an unconditional module-level import already binds it.
    """

    module: str
    name: str | None = None


Edit = (
    InsertStatement
    | ReplaceExpression
    | RewriteCall
    | RemoveStatement
    | ReplaceStatement
    | MoveImportedName
    | AddImport
)
