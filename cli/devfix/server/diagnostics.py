"""Findings as an editor shows them."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from devfix_codemods import suppressions
from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from devfix.reporting.terminal import visible
from devfix.reporting.text import message_of
from devfix.results import Note, Problem
from devfix.server.analyst import Found
from devfix.server.texts import OpenText, Positions, positions_in

SOURCE = "devfix"
_TAGS = {
    "DVF302": [types.DiagnosticTag.Deprecated],
    suppressions.CODE: [types.DiagnosticTag.Unnecessary],
}


def diagnostics(found: Found, others: Sequence[OpenText], codec: PositionCodec) -> list[types.Diagnostic]:
    """One diagnostic for each finding, in their order. `others` are the texts that are open, too."""
    positions = found.text.positions(codec)
    elsewhere = _Elsewhere({one.path: one for one in others if one.path is not None}, codec)
    return [_diagnostic(problem, found.text.uri, positions, elsewhere) for problem in found.problems]


def _diagnostic(problem: Problem, uri: str, positions: Positions, elsewhere: "_Elsewhere") -> types.Diagnostic:
    with_advice = not problem.fixable and problem.advice is not None
    return types.Diagnostic(
        range=positions.range(problem.span),
        message=_with_advice(problem) if with_advice else visible(message_of(problem)),
        severity=_severity(problem),
        code=problem.code,
        source=SOURCE,
        tags=_TAGS.get(problem.code),
        related_information=[_stop(note, uri, positions, elsewhere) for note in problem.trail],
    )


def _severity(problem: Problem) -> types.DiagnosticSeverity:
    if problem.is_suggestion:
        return types.DiagnosticSeverity.Hint
    return types.DiagnosticSeverity.Warning if problem.fixable else types.DiagnosticSeverity.Information


def _with_advice(problem: Problem) -> str:
    return f"{visible(message_of(problem))}\n{visible(problem.advice or '')}"


def _stop(note: Note, uri: str, positions: Positions, elsewhere: "_Elsewhere") -> types.DiagnosticRelatedInformation:
    if note.path is None:
        location = types.Location(uri, positions.range(note.span))
    else:
        location = elsewhere.location(note.path, note)
    return types.DiagnosticRelatedInformation(location, visible(note.text))


class _Elsewhere:
    """Places in other files: in the editor's text where they are open, else on the disk."""

    def __init__(self, texts: Mapping[str, OpenText], codec: PositionCodec) -> None:
        self._texts = texts
        self._codec = codec
        self._positions = cache(self._read)

    def location(self, path: str, note: Note) -> types.Location:
        uri = self._texts[path].uri if path in self._texts else from_fs_path(path) or ""
        return types.Location(uri, self._positions(path).range(note.span))

    def _read(self, path: str) -> Positions:
        if path in self._texts:
            return self._texts[path].positions(self._codec)
        try:
            known = positions_in(path, Path(path).read_bytes(), self._codec)
        except OSError:
            known = None
        return known or Positions([], self._codec)
