"""The report for programs. Lines and columns count from 1, ends are exclusive, paths are those of the text report."""

import sys
from collections.abc import Sequence
from typing import Any

import msgspec
from devfix_codemods.source import Span

from devfix.results import Checked, Failed, Problem, Repair, Replacement, Result, Rewritten

VERSION = 1


def report(results: Sequence[Result], errors: Sequence[Failed], extra: dict[str, Any] | None = None) -> None:
    """Print the document."""
    document = {
        "version": VERSION,
        "findings": [entry for result in results for entry in _findings(result)],
        "errors": [{"path": _text(error.target.label), "reason": _text(error.reason)} for error in errors],
    }
    print(encode(document | (extra or {})), file=sys.stdout)


def encode(document: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode()


def changed(results: Sequence[Result]) -> list[dict[str, Any]]:
    """For each changed file what was fixed in it, at the positions of the file as it was."""
    return [
        {
            "path": _text(result.target.label),
            "fixed": [finding(result.target.label, problem) for problem in result.fixed],
        }
        for result in results
        if isinstance(result, Rewritten)
    ]


def finding(label: str, problem: Problem) -> dict[str, Any]:
    """One finding as the document has it."""
    return {
        "path": _text(label),
        **_place(problem.span),
        "code": problem.code,
        "name": problem.name,
        "message": _text(problem.message),
        "trail": [
            {"path": _text(label), "line": note.span.line, "column": note.span.column + 1, "note": _text(note.text)}
            for note in problem.trail
        ],
        "fix": None if problem.repair is None else _fix(problem.repair),
        "advice": problem.advice,
    }


def _findings(result: Result) -> list[dict[str, Any]]:
    if isinstance(result, Checked):
        return [finding(result.target.label, problem) for problem in result.problems]
    if isinstance(result, Rewritten):
        return [finding(result.target.label, problem) for problem in result.left]
    return []


def _fix(repair: Repair) -> dict[str, Any]:
    return {"safety": repair.safety, "title": _text(repair.title), "edits": [_edit(edit) for edit in repair.edits]}


def _edit(edit: Replacement) -> dict[str, Any]:
    return {**_place(edit.span), "new_text": _text(edit.text)}


def _place(span: Span) -> dict[str, int]:
    return {
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.end_line,
        "end_column": span.end_column + 1,
    }


def _text(text: str) -> str:
    """JSON has no lone surrogates; file names may."""
    return text.encode("utf-8", "backslashreplace").decode()
