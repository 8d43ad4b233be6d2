"""What a driver showed, as the result of a replay."""

from dataclasses import replace
from pathlib import Path

from devfix_codemods.findings import Finding

from devfix.replay.changes import Change, Part
from devfix.replay.harness.driving import Driven, Harness, Judgement
from devfix.replay.harness.targets import DRIVER
from devfix.replay.results import Driver, FixResult, ReplayResult, notes_of
from devfix.replay.verdict_kinds import Kind


def judged_by_driver(harness: Harness, change: Change, result: ReplayResult) -> ReplayResult:
    """The result of the file's driver, where nothing else ran the patch.

    Raises:
        WorkspaceError: the tree could not be copied.
    """
    if result.verdict.kind not in (Kind.INCONCLUSIVE, Kind.NOT_REACHED):
        return result
    judged = harness.judge(change)
    telling = judged.telling
    if telling is None or telling.runs is None or judged.verdict.kind in (Kind.INCONCLUSIVE, Kind.NOT_REACHED):
        return _not_driven(result, judged)
    stage, verdict, backend = harness.schedule.stage, judged.verdict, harness.backend
    is_refuted = verdict.kind is Kind.REFUTED
    return replace(
        result,
        command=f"python {DRIVER}",
        on=backend.name,
        verdict=verdict,
        before=telling.runs.before,
        after=telling.runs.after,
        fixes=tuple(_fix(finding, change, harness, judged) for finding in change.findings),
        kept=stage.workspace.folder if stage.options.keep else None,
        holds=change.before if is_refuted else result.holds,
        withdrawn=change.findings if is_refuted else result.withdrawn,
        notes=notes_of(backend, telling.runs.before, telling.runs.after),
        harness=_told_driver(telling, None, harness.kept(telling)),
    )


def _not_driven(result: ReplayResult, judged: Judgement) -> ReplayResult:
    """The result as it was, with what kept its file from being driven."""
    reason = f"{result.verdict.reason}; {judged.verdict.reason}"
    driver = Driver("", step="target") if judged.telling is None else _told_driver(judged.telling, judged.telling.step)
    return replace(result, verdict=replace(result.verdict, reason=reason), harness=driver)


def _told_driver(driven: Driven, step: str | None, kept: Path | None = None) -> Driver:
    target = driven.target
    return Driver(target.own_name, driven.text, step, driven.absent, kept, target.part)


def _fix(finding: Finding, change: Change, harness: Harness, judged: Judgement) -> FixResult:
    """The verdict of the driver that ran the lines of a fix."""
    if judged.verdict.kind is Kind.REFUTED:
        return FixResult(finding, Kind.REFUTED, judged.verdict.reason)
    ran = [one for one in judged.all if _runs_all_of(finding, change, harness, one)]
    kinds = [one.verdict.kind for one in ran]
    found = next((kind for kind in (Kind.CONFIRMED, Kind.HARMLESS) if kind in kinds), None)
    return FixResult(finding, found or Kind.NOT_REACHED)


def _runs_all_of(finding: Finding, change: Change, harness: Harness, driven: Driven) -> bool:
    if driven.runs is None or finding.fix is None:
        return False
    file = harness.schedule.stage.relative(change.path)
    lines = {line for name, line in driven.runs.after.reached if name == file}
    return not harness.version.coverage(Part(change.path, finding), lines).missed
