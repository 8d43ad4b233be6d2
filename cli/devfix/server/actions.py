"""What an editor offers to do about findings: quick fixes, comments that silence, and all safe fixes of a file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from devfix_codemods import suppressions
from devfix_codemods.edits import lines
from devfix_codemods.source import Source, Span
from lsprotocol import types

from devfix.reporting.terminal import one_line
from devfix.results import Problem
from devfix.server.analyst import Found
from devfix.server.texts import Positions

FIX_ALL = "source.fixAll.devfix"
KINDS = (types.CodeActionKind.QuickFix, FIX_ALL)
_FIX_ALL_TITLE = "devfix: apply all safe fixes in this file"


@dataclass(frozen=True)
class Shown:
    """The findings of one version of a document, each as the diagnostic that the editor shows.

    `versioned` says whether the client takes edits that name the version they are for.
    """

    found: Found
    diagnostics: Sequence[types.Diagnostic]
    positions: Positions
    versioned: bool

    def at(self, wanted: types.Range) -> Iterator[tuple[Problem, types.Diagnostic]]:
        """The findings that a range touches."""
        for problem, diagnostic in zip(self.found.problems, self.diagnostics, strict=True):
            if diagnostic.range.start <= wanted.end and wanted.start <= diagnostic.range.end:
                yield problem, diagnostic

    @property
    def safe(self) -> list[Problem]:
        """The findings that are repaired unasked."""
        return [one for one in self.found.problems if one.repair is not None and one.repair.safety == "safe"]

    def edit(self, replacements: Iterable[tuple[Span, str]]) -> types.WorkspaceEdit:
        text = self.found.text
        edits = [types.TextEdit(self.positions.range(span), new) for span, new in replacements]
        if not self.versioned:
            return types.WorkspaceEdit(changes={text.uri: edits})
        document = types.OptionalVersionedTextDocumentIdentifier(text.uri, text.version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, edits)])


def quick_fixes(shown: Shown, wanted: types.Range) -> Iterator[types.CodeAction]:
    """For each finding in the range its fix, then the comment that silences it."""
    for problem, diagnostic in shown.at(wanted):
        if (fix := _fix(shown, problem, diagnostic)) is not None:
            yield fix
        if (silence := _silence(shown, problem, diagnostic)) is not None:
            yield silence


def fix_all(shown: Shown) -> types.CodeAction | None:
    """The action for all safe fixes, its edit still to be made; None where there are none."""
    if not shown.safe:
        return None
    text = shown.found.text
    return types.CodeAction(_FIX_ALL_TITLE, FIX_ALL, data={"uri": text.uri, "version": text.version})


def whole_edit(shown: Shown, after: bytes) -> types.WorkspaceEdit:
    """The edit that makes the document `after`: only the lines that differ."""
    text = shown.found.text
    old, new = (lines.split(Source(text.label, data).text) for data in (text.data or b"", after))
    return shown.edit(
        (_lines(old, start, end), "".join(new[new_start:new_end]))
        for tag, start, end, new_start, new_end in lines.opcodes(old, new)
        if tag != "equal"
    )


def asked(only: Sequence[str] | None, kind: str) -> bool:
    """Whether a client that asks for the kinds `only` wants `kind`: kinds are prefixes, up to a dot."""
    return only is None or any(one == "" or kind == one or kind.startswith(f"{one}.") for one in only)


def _fix(shown: Shown, problem: Problem, diagnostic: types.Diagnostic) -> types.CodeAction | None:
    repair = problem.repair
    if not problem.fixable or repair is None or not repair.edits:
        return None
    safe = repair.safety == "safe"
    return types.CodeAction(
        f"{one_line(repair.title)}{'' if safe else f' ({repair.safety})'}",
        types.CodeActionKind.QuickFix,
        [diagnostic],
        is_preferred=safe,
        edit=shown.edit((edit.span, edit.text) for edit in repair.edits),
    )


def _silence(shown: Shown, problem: Problem, diagnostic: types.Diagnostic) -> types.CodeAction | None:
    if problem.code == suppressions.CODE:
        return None
    text = shown.found.text
    source = Source(text.label, text.data or b"")
    silenced = suppressions.silencing(source, problem.span, problem.code)
    if silenced is None:
        return None
    line, new = silenced
    span = Span(line, 0, line, len(source.lines[line - 1]))
    return types.CodeAction(
        f"Silence with # devfix: ignore[{problem.code}]",
        types.CodeActionKind.QuickFix,
        [diagnostic],
        edit=shown.edit([(span, new)]),
    )


def _lines(old: Sequence[str], start: int, end: int) -> Span:
    """The range of the lines from `start` up to `end`, from 0; after a last line without an end there is no next."""
    return Span(*_edge(old, start), *_edge(old, end))


def _edge(old: Sequence[str], number: int) -> tuple[int, int]:
    if number == len(old) and old and not old[-1].endswith(("\n", "\r")):
        return number, len(old[-1])
    return number + 1, 0
