"""What the rules find in a file, each cause told once, with fixes that can be had."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from devfix_codemods.applicability import inapplicable
from devfix_codemods.edits.errors import EditError
from devfix_codemods.edits.no_ops import moves_to_itself
from devfix_codemods.edits.operations import Edit, InsertStatement
from devfix_codemods.edits.required_torch import release_needed
from devfix_codemods.edits.torch_alias import by_alias
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.fixing import without_conflicts
from devfix_codemods.outcomes import Failed, Options
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.precision.own import is_replaced
from devfix_codemods.preferences import Prefer
from devfix_codemods.program import Program
from devfix_codemods.repairs.declared_devices import ACCELERATOR_DECLARATION, ACCELERATOR_SINCE, DECLARATION
from devfix_codemods.repairs.findings import birth_of, births_in_conflict, same_cause
from devfix_codemods.repairs.findings import findings as conflict_findings
from devfix_codemods.rules import Rule, blame, is_foreign
from devfix_codemods.source import Source, SourceError


@dataclass(frozen=True, slots=True)
class Found:
    """What the rules find, told or `hidden`: suggestions that nobody asks for, and what is not certain enough.

    Which it is, is settled before a fix that cannot be had turns into advice: that would be told unasked.
    """

    shown: list[Finding] = field(default_factory=list)
    hidden: list[Finding] = field(default_factory=list)


def found_by(program: Program, rules: Iterable[Rule], owners: Iterable[Rule], options: Options) -> Found | Failed:
    """What `rules` find in a program, and what it has of the conflicts that `owners` tell."""
    _ = program.tree  # what does not parse is no rule's fault
    findings = Found()
    if is_replaced(program.unit, program.project):
        return findings
    for rule in rules:
        if rule.check is None:
            continue
        try:
            found = [one for one in _honest(rule, rule.check(program)) if not _moves_nothing(program.source, one)]
            findings.shown.extend(_applicable(program, one) for one in found if options.shows(one))
            findings.hidden.extend(one for one in found if not options.shows(one))
        except Exception as error:
            reason = f"{rule.code} {rule.name} raised {type(error).__name__}: {error}"
            foreign = is_foreign(rule.code)
            return Failed(f"{reason}; {blame(rule.code)}" if foreign else reason, internal=not foreign)
    placed = [one for one in _placed(program, owners) if not _moves_nothing(program.source, one)]
    respelling = frozenset(rule.code for rule in rules if rule.respells)
    solving = [one for one in findings.shown if one.code not in respelling]
    for finding in _outliving(program.source, _told_once(findings, placed, options, respelling), solving):
        if options.shows(finding):
            findings.shown.append(_applicable(program, finding))
        else:
            findings.hidden.append(finding)
    return findings


def _placed(program: Program, owners: Iterable[Rule]) -> Iterator[Finding]:
    """The conflicts of the placement analysis, each told by the rule that owns it."""
    for rule in owners:
        if rule.owns is not None:
            yield from conflict_findings(program.placement, program.source, rule.code, rule.name, rule.owns)


def _told_once(
    findings: Found, placed: Iterable[Finding], options: Options, respelling: frozenset[str]
) -> list[Finding]:
    """`placed` without what others tell of; one of those that cannot repair its cause leaves it to one that can."""
    left = []
    told = [one for one in (*findings.shown, *findings.hidden) if one.code not in respelling]
    for one in placed:
        same = [other for other in told if same_cause(one, other)]
        repairs = one.fix is not None and one.fix.safety is not Safety.SUGGESTION and options.shows(one)
        if repairs and all(other.fix is None and other.code != one.code for other in same):  # a rule has its reasons
            findings.shown[:] = [other for other in findings.shown if other not in same]
            left.append(one)
        elif not same:
            left.append(one)
    return left


def _outliving(source: Source, placed: list[Finding], told: Iterable[Finding]) -> list[Finding]:
    """The findings of `placed` that are there still after the fixes of those `told`: one cause is one finding."""
    fixed = [one for one in told if one.fix is not None and one.fix.edits]
    if not placed or not fixed:
        return placed
    try:
        data, _ = without_conflicts(source, fixed)
        alone, after = Analysis(source.tree), Analysis(Source(source.path, data).tree)
    except (EditError, SourceError):
        return placed
    gone = births_in_conflict(alone) - births_in_conflict(after)  # what other files have a part in is seen in neither
    alone.forget()
    after.forget()
    return [one for one in placed if birth_of(one) not in gone]


def _honest(rule: Rule, findings: Iterable[Finding]) -> list[Finding]:
    """The findings of one rule. Comments and settings know them by its code, so that they must have it."""
    found = list(findings)
    for one in found:
        if not isinstance(one, Finding):
            raise TypeError(f"it finds {one!r}, which is no Finding")
        if (one.code, one.name) != (rule.code, rule.name):
            raise ValueError(f"it finds something as {one.code} {one.name}")
        if not 0 <= one.confidence <= 1:
            raise ValueError(f"it finds something with a confidence of {one.confidence}, which is not from 0 to 1")
    return found


def _moves_nothing(source: Source, finding: Finding) -> bool:
    """Whether its fix moves a value to where that is: nothing was misplaced."""
    return finding.fix is not None and any(moves_to_itself(source, one) for one in finding.fix.edits)


def _applicable(program: Program, finding: Finding) -> Finding:
    """`finding` without a fix that cannot work at its place.

    A rule of somebody else keeps its fix: applying it tells that as the bug of the rule that it is.
    """
    if finding.fix is None or is_foreign(finding.code):
        return finding
    reason = inapplicable(program, _by_alias(program.source, finding.fix))
    if reason is None:
        return finding
    return finding.without_fix(f"The fix ({finding.fix.title}) {reason}")


def suited(finding: Finding, options: Options, source: Source) -> Finding:
    """`finding` with a fix that writes what the options want."""
    aimed = _as_preferred(_for_target(finding, options, source), options)
    return replace(aimed, fix=_by_alias(source, aimed.fix)) if aimed.fix is not None else aimed


def _by_alias(source: Source, fix: Fix) -> Fix:
    return replace(fix, edits=by_alias(source.tree, fix.edits)) if fix.edits else fix


def _for_target(finding: Finding, options: Options, source: Source) -> Finding:
    """`finding` without a fix that writes what the target does not have yet."""
    fix, target = finding.fix, options.target_torch
    if fix is None or target is None:
        return finding
    since = max(filter(None, (fix.since, release_needed(fix.edits, source.text))), default=target)
    if since <= target:
        return finding
    by = f" (by {options.target_origin})" if options.target_origin else ""
    reason = f"The fix ({fix.title}) needs torch {_release(since)}; the target is torch {_release(target)}{by}."
    return finding.without_fix(reason)


def _as_preferred(finding: Finding, options: Options) -> Finding:
    """`finding`, its fix declaring the preferred device; its title says so where it could not be declared."""
    fix, target = finding.fix, options.target_torch
    if fix is None or options.prefer is Prefer.CUDA or not any(map(_declares, fix.edits)):
        return finding
    if target is None or target >= ACCELERATOR_SINCE:
        edits = (replace(one, code=ACCELERATOR_DECLARATION) if _declares(one) else one for one in fix.edits)
        safety = Safety.UNSAFE if fix.safety is Safety.SAFE else fix.safety  # it is not what the program chose
        return replace(finding, fix=replace(fix, safety=safety, edits=tuple(edits)))
    need, have = _release(ACCELERATOR_SINCE), _release(target)
    reason = f"CUDA or the host: `torch.accelerator` needs torch {need}, the target is torch {have}"
    return replace(finding, fix=replace(fix, title=f"{fix.title} ({reason})"))


def _declares(edit: Edit) -> TypeGuard[InsertStatement]:
    return isinstance(edit, InsertStatement) and edit.code == DECLARATION


def _release(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))
