"""The fixes of findings, applied to a file: as many as go together."""

import re
from collections.abc import Iterable, Sequence

from devfix_codemods.edits.errors import EditConflict
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Finding
from devfix_codemods.source import Source


def without_conflicts(source: Source, findings: Sequence[Finding]) -> tuple[bytes, list[Finding]]:
    """The bytes after as many fixes as go together, earlier ones first, and their findings.

    What copies the CUDA of a move that another one of them spells anew waits: the next time it copies that.
    """
    copying = [one for one in findings if any(map(_spells_cuda, edits_of(one)))]
    waiting = [one for one in copying if any(_tells_of_change(one, other) for other in findings)]
    chosen = [one for one in findings if one not in waiting]
    while True:
        try:
            return applied(source, [edit for finding in chosen for edit in edits_of(finding)]), chosen
        except EditConflict as conflict:
            chosen = _without_later(chosen, conflict)


def _tells_of_change(finding: Finding, other: Finding) -> bool:
    """Whether a finding tells of a move that the fix of another rule changes."""
    if finding.code == other.code:
        return False
    told = [step.span for step in finding.trail if step.path is None]
    changed = [span for edit in edits_of(other) if (span := getattr(edit, "span", None)) is not None]
    return any(one.contains(each) or each.contains(one) for one in told for each in changed)


def _spells_cuda(edit: Edit) -> bool:
    return _CUDA.search(repr(edit)) is not None


_CUDA = re.compile(r"""["']cuda\b|\.cuda\(""")


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
