"""The report for programs. Lines and columns count from 1, ends are exclusive, paths are those of the text report.

In a notebook, `cell` counts all cells from 1, and lines are those of the cell.
"""

import codecs
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from devfix_codemods.source import Span

from devfix.project.discovery import label_of
from devfix.results import Checked, Failed, Note, Problem, Repair, Result, Rewritten

VERSION = 1


def report(results: Sequence[Result], errors: Sequence[Failed], extra: Mapping[str, Any] | None = None) -> None:
    """Print the document."""
    print(document(results, errors, extra or {}))


def document(results: Sequence[Result], errors: Sequence[Failed], extra: Mapping[str, Any]) -> str:
    """The document; `extra` are further members of it."""
    members = {
        "version": VERSION,
        "findings": [entry for result in results for entry in _findings(result)],
        "errors": errors_of(errors),
    }
    return encode({**members, **extra})


def errors_of(errors: Sequence[Failed]) -> list[dict[str, str]]:
    """The files that could not be handled, as every document has them."""
    return [{"path": plain(error.target.label), "reason": plain(error.reason)} for error in errors]


def encode(document: Any) -> str:
    """The text of a document; in ASCII where standard output is not in UTF-8, in which programs read JSON."""
    if codecs.lookup(sys.stdout.encoding or "utf-8").name != "utf-8":
        return json.dumps(msgspec.to_builtins(document), indent=2)
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def changed(results: Sequence[Result]) -> list[dict[str, Any]]:
    """For each changed file what was fixed in it, at the positions of the file as it was."""
    return [
        {
            "path": plain(result.target.label),
            "fixed": [finding(result.target.label, problem) for problem in result.fixed],
        }
        for result in results
        if isinstance(result, Rewritten)
    ]


def finding(label: str, problem: Problem) -> dict[str, Any]:
    """One finding as the document has it."""
    return {
        "path": plain(label),
        **_place(problem, problem.span),
        "code": problem.code,
        "name": problem.name,
        "message": plain(problem.message),
        **({"confidence": problem.confidence} if problem.confidence < 1 else {}),
        **({"links": list(problem.links)} if problem.links else {}),
        "trail": [_note(label, problem, note) for note in problem.trail],
        **({"suggestion": True} if problem.weak else {}),
        "fix": None if problem.repair is None else _fix(problem, problem.repair),
        "advice": None if problem.advice is None else plain(problem.advice),
    }


def _note(label: str, problem: Problem, note: Note) -> dict[str, Any]:
    if note.path is None:
        return {"path": plain(label), **_start(problem, note.span), "note": plain(note.text)}
    where = {"line": note.span.line, "column": note.span.column + 1}
    return {"path": plain(label_of(note.path)), **where, "note": plain(note.text)}


def _findings(result: Result) -> list[dict[str, Any]]:
    if isinstance(result, Checked):
        return [finding(result.target.label, problem) for problem in result.problems]
    if isinstance(result, Rewritten):
        return [finding(result.target.label, problem) for problem in result.left]
    return []


def _fix(problem: Problem, repair: Repair) -> dict[str, Any]:
    edits = [{**_place(problem, edit.span), "new_text": plain(edit.text)} for edit in repair.edits]
    return {"safety": repair.safety, "title": plain(repair.title), "edits": edits}


def _place(problem: Problem, span: Span) -> dict[str, int]:
    end = _start(problem, Span(span.end_line, span.end_column, span.end_line, span.end_column))
    return {**_start(problem, span), "end_line": end["line"], "end_column": end["column"]}


def _start(problem: Problem, span: Span) -> dict[str, int]:
    cell, line = problem.place(span.line)
    return {**({} if cell is None else {"cell": cell}), "line": line, "column": span.column + 1}


def plain(text: str) -> str:
    """`text` as JSON can have it: it has no lone surrogates; file names may."""
    return text.encode("utf-8", "backslashreplace").decode()
