"""SARIF 2.1.0, the OASIS format of analysis results, with a code flow for each trail and the fixes as replacements.

Columns count characters. Places in a notebook have no region: that of its JSON text would tell a reader nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import quote

from devfix_codemods.source import Span

from devfix import __version__
from devfix.project.discovery import label_of
from devfix.reporting import json
from devfix.reporting.identified import identified
from devfix.results import Failed, Note, Problem, Repair, Replacement, Result
from devfix.rules.pages import RulePage, all_pages

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
FINGERPRINT = "devfix/v1"


def document(results: Sequence[Result], errors: Sequence[Failed]) -> str:
    """The log with its one run."""
    rules = _rules()
    numbers = {rule["id"]: number for number, rule in enumerate(rules)}
    run = {
        "tool": {"driver": {"name": "devfix", "semanticVersion": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": not errors, "toolExecutionNotifications": [_notification(one) for one in errors]}
        ],
        "results": [entry for result in results for entry in _results(result, numbers)],
    }
    return json.encode({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _rules() -> list[dict[str, Any]]:
    return [_rule(page) for page in sorted(all_pages(), key=lambda page: page.code)]


def _rule(page: RulePage) -> dict[str, Any]:
    return {
        "id": page.code,
        "name": "".join(word.capitalize() for word in page.name.split("-")),
        "shortDescription": {"text": page.text.partition("\n")[0]},
        "fullDescription": {"text": page.text},
        "help": {"text": page.text, "markdown": page.text},
        "defaultConfiguration": {"level": "warning"},
    }


def _notification(error: Failed) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": _artifact(error.target.label)}}
    return {"level": "error", "message": {"text": json.plain(error.reason)}, "locations": [place]}


def _results(result: Result, numbers: dict[str, int]) -> Iterator[dict[str, Any]]:
    label = result.target.label
    for problem, known_by in identified(result):
        entry: dict[str, Any] = {
            "ruleId": problem.code,
            "ruleIndex": numbers.get(problem.code, -1),
            "level": "note" if problem.is_suggestion else "warning",
            "message": {"text": _told(problem)},
            "locations": [_location(label, problem, problem.span)],
            "partialFingerprints": {FINGERPRINT: known_by},
            "properties": {"safety": problem.tier},
        }
        if problem.confidence < 1:
            entry["rank"] = round(100 * problem.confidence, 1)
            entry["properties"]["confidence"] = problem.confidence
        if problem.trail:
            entry["codeFlows"] = [_flow(label, problem)]
        if problem.repair is not None and problem.repair.edits and not problem.cells:
            entry["fixes"] = [_fix(label, problem.repair)]
        yield entry


def _told(problem: Problem) -> str:
    return json.plain(f"{problem.message}. {problem.advice}" if problem.advice else problem.message)


def _flow(label: str, problem: Problem) -> dict[str, Any]:
    stops = [{"location": _stop(label, problem, note)} for note in problem.trail]
    return {"threadFlows": [{"locations": stops}]}


def _stop(label: str, problem: Problem, note: Note) -> dict[str, Any]:
    if note.path is None:
        return {**_location(label, problem, note.span), "message": {"text": json.plain(note.text)}}
    place = {"artifactLocation": _artifact(label_of(note.path)), "region": _region(note.span)}
    return {"physicalLocation": place, "message": {"text": json.plain(note.text)}}


def _location(label: str, problem: Problem, span: Span) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(label)}
    cell, line = problem.place(span.line)
    if cell is None:
        return {"physicalLocation": {**place, "region": _region(span)}}
    logical = {"name": f"cell {cell}", "fullyQualifiedName": f"cell {cell}, line {line}"}
    return {"physicalLocation": place, "logicalLocations": [logical]}


def _artifact(label: str) -> dict[str, Any]:
    path = label.encode("utf-8", "surrogateescape")
    return {"uri": ("file://" if label.startswith("/") else "") + quote(path, safe="/~")}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column + 1,
        "endLine": span.end_line,
        "endColumn": span.end_column + 1,
    }


def _fix(label: str, repair: Repair) -> dict[str, Any]:
    replacements = list(map(_replacement, _in_order(repair.edits)))
    change = {"artifactLocation": _artifact(label), "replacements": replacements}
    return {"description": {"text": json.plain(repair.title)}, "artifactChanges": [change]}


def _in_order(edits: Iterable[Replacement]) -> list[Replacement]:
    return sorted(edits, key=lambda edit: edit.span.start)


def _replacement(edit: Replacement) -> dict[str, Any]:
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": json.plain(edit.text)}}
