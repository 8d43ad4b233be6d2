"""The fixes of findings, applied to a file: as many as go together."""

from collections.abc import Iterable, Sequence

from devfix_codemods.edits.errors import EditConflict
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Finding
from devfix_codemods.source import Source


def without_conflicts(source: Source, findings: Sequence[Finding]) -> tuple[bytes, list[Finding]]:
    """The bytes after as many fixes as go together, earlier ones first, and their findings."""
    chosen = list(findings)
    while True:
        try:
            return applied(source, [edit for finding in chosen for edit in edits_of(finding)]), chosen
        except EditConflict as conflict:
            chosen = _without_later(chosen, conflict)


def _without_later(findings: list[Finding], conflict: EditConflict) -> list[Finding]:
    firsts, seconds = ([one for one in findings if edit in edits_of(one)] for edit in (conflict.first, conflict.second))
    if firsts[0] is seconds[0]:
        raise conflict  # one fix that contradicts itself
    later = max(firsts, seconds, key=lambda owners: findings.index(owners[0]))
    return [finding for finding in findings if finding not in later]


def edits_of(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix is not None else ()


def applied(source: Source, edits: Iterable[Edit]) -> bytes:
    """The bytes after `edits`."""
    # libcst takes longer to import than most files take to check
    from devfix_codemods.edits.apply import apply

    return apply(source, edits)
