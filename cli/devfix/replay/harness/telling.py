"""What a driver showed, as the result of a replay."""

from dataclasses import replace
from pathlib import Path

from devfix_codemods.findings import Finding

from devfix.replay.changes import Change, Part, findings_of, refuted_in_part
from devfix.replay.harness.driving import Driven, Harness, Judgement
from devfix.replay.harness.targets import DRIVER
from devfix.replay.patches import Coverage
from devfix.replay.results import Driver, FixResult, ReplayResult, notes_of
from devfix.replay.verdict_kinds import Kind


def judged_by_driver(harness: Harness, change: Change, result: ReplayResult) -> ReplayResult:
    """The result of the file's driver, where nothing else ran the patch.

    Where a driver refutes it, the fixes that ran there are withdrawn, and the rest is driven again.

    Raises:
        WorkspaceError: the tree could not be copied.
    """
    if result.verdict.kind not in (Kind.INCONCLUSIVE, Kind.NOT_REACHED):
        return result
    judged = harness.judge(change)
    if judged.telling is None or judged.verdict.kind in (Kind.INCONCLUSIVE, Kind.NOT_REACHED):
        return _not_driven(result, judged)
    broken: dict[Part, str] = {}
    while judged.verdict.kind is Kind.REFUTED:
        broken |= _broken(harness, change, judged)
        if len(broken) == len(change.parts):
            return _driven(harness, change, result, judged, broken)
        harness = harness.without(broken)
        judged = harness.judge(change)
    return _driven(harness, change, result, judged, broken)


def _broken(harness: Harness, change: Change, judged: Judgement) -> dict[Part, str]:
    """The parts of a patch that drivers ran when they failed by it, each with the reason; all, where none is known."""
    left = [part for part in change.parts if part in harness.parts]
    refuting = [one for one in judged.all if one.verdict.kind is Kind.REFUTED]
    ran = {part: one.verdict.reason for one in refuting for part in left if _lines_of(part, harness, one).reached}
    return ran or dict.fromkeys(left, judged.verdict.reason)


def _driven(
    harness: Harness, change: Change, result: ReplayResult, judged: Judgement, broken: dict[Part, str]
) -> ReplayResult:
    """The result of a file of whose patch some parts are broken, and the others are judged."""
    backend, telling = harness.backend, judged.telling
    verdict = refuted_in_part(change, broken, judged.verdict) if broken else judged.verdict
    told = replace(result, on=backend.name, verdict=verdict)
    if telling is not None and telling.runs is not None:
        stage = harness.schedule.stage
        told = replace(
            told,
            command=f"python {DRIVER}",
            before=telling.runs.before,
            after=telling.runs.after,
            kept=stage.workspace.folder if stage.options.keep else None,
            notes=notes_of(backend, telling.runs.before, telling.runs.after),
            harness=_told_driver(telling, None, harness.kept(telling)),
        )
    return replace(
        told,
        fixes=tuple(_fix(finding, change, harness, judged, broken) for finding in change.findings),
        holds=change.with_parts([part for part in change.parts if part not in broken]),
        withdrawn=findings_of(change, broken),
    )


def _not_driven(result: ReplayResult, judged: Judgement) -> ReplayResult:
    """The result as it was, with what kept its file from being driven."""
    reason = f"{result.verdict.reason}; {judged.verdict.reason}"
    driver = Driver("", step="target") if judged.telling is None else _told_driver(judged.telling, judged.telling.step)
    return replace(result, verdict=replace(result.verdict, reason=reason), harness=driver)


def _told_driver(driven: Driven, step: str | None, kept: Path | None = None) -> Driver:
    target = driven.target
    return Driver(target.own_name, driven.text, step, driven.absent, kept, target.part, driven.left_out)


def _fix(finding: Finding, change: Change, harness: Harness, judged: Judgement, broken: dict[Part, str]) -> FixResult:
    """The verdict of the driver that ran the lines of a fix."""
    own = Part(change.path, finding)
    for part in (Part(change.path), own):
        if part in broken:
            return FixResult(finding, Kind.REFUTED, broken[part])
    ran = [one for one in judged.all if finding.fix is not None and _ran_all_of(own, harness, one)]
    kinds = [one.verdict.kind for one in ran]
    found = next((kind for kind in (Kind.CONFIRMED, Kind.CONDITIONAL, Kind.HARMLESS) if kind in kinds), None)
    return FixResult(finding, found or Kind.NOT_REACHED)


def _ran_all_of(part: Part, harness: Harness, driven: Driven) -> bool:
    return driven.runs is not None and not _lines_of(part, harness, driven).missed


def _lines_of(part: Part, harness: Harness, driven: Driven) -> Coverage:
    """Which statements of a part a driver ran."""
    reached = driven.runs.after.reached if driven.runs is not None else ()
    file = harness.schedule.stage.relative(part.path)
    return harness.version.coverage(part, {line for name, line in reached if name == file})
