"""All candidates for one diagnosis, best first: where the value is born, not where the program crashes."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from devfix_codemods.diagnosis.known import known_fixes
from devfix_codemods.diagnosis.messages import Category
from devfix_codemods.diagnosis.modules import module_repairs
from devfix_codemods.diagnosis.optimizers import optimizer_repairs
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.diagnosis.records import Diagnosis, Kind, Repair
from devfix_codemods.diagnosis.sinks import LAST, moves_at_sink, special_repairs
from devfix_codemods.diagnosis.tensors import tensor_repairs
from devfix_codemods.edits.depth import with_deep_stack
from devfix_codemods.source import Source

_PLACE_FREE = frozenset({Category.TO_NUMPY, Category.LENGTHS, Category.LOAD, Category.AUTOCAST, Category.RNG_STATE})
"""Classes of errors in which no operand is to be taken elsewhere at its birth."""


def repairs(diagnosis: Diagnosis, sources: Mapping[str, Source]) -> Sequence[Repair]:
    """Candidates for a repair, best first; none where nothing in `sources` can be blamed.

    `sources` are the user's files by the names that the diagnosis uses for them: no other file is edited. No candidate
    is proven. It uses names only where they are bound on every path to the line.
    """
    return with_deep_stack(lambda: _repairs(Project.of(diagnosis, sources), diagnosis))  # values may have a long past


def _repairs(project: Project, diagnosis: Diagnosis) -> Sequence[Repair]:
    found = chain(
        known_fixes(project, diagnosis),
        special_repairs(project, diagnosis),
        _of_operands(project, diagnosis),
        moves_at_sink(project, diagnosis) if diagnosis.category not in _PLACE_FREE else (),
        _last(project, diagnosis),
    )
    unique: dict[tuple[object, ...], Repair] = {}
    for one in found:
        if one.rule is not None or diagnosis.category in _PLACE_FREE or not _is_managed(project, one):
            unique.setdefault(one.edits, one)
    return tuple(unique.values())


def _is_managed(project: Project, repair: Repair) -> bool:
    """Whether a framework places values in a file that would be edited: no moves are inserted there."""
    programs = (project.program(file) for file, _ in repair.edits)
    return any(one is not None and one.unit.traits.managed for one in programs)


def _of_operands(project: Project, diagnosis: Diagnosis) -> Iterator[Repair]:
    """Modules before tensors: a model that was not moved explains every tensor that it meets. Outer frames first."""
    if diagnosis.category in _PLACE_FREE:
        return
    count = len(diagnosis.frames)
    order = {Kind.MODULE: 0, Kind.OPTIMIZER: 1}
    ranked = sorted(diagnosis.misplaced, key=lambda one: (order.get(one.kind, 2), one.frame % max(count, 1)))
    for operand in ranked:
        if operand.kind is Kind.MODULE:
            yield from module_repairs(project, diagnosis, operand)
        elif operand.kind is Kind.OPTIMIZER:
            yield from optimizer_repairs(project, diagnosis, operand)
        else:
            yield from tensor_repairs(project, diagnosis, operand)


def _last(project: Project, diagnosis: Diagnosis) -> Iterator[Repair]:
    program, handler = project.program(diagnosis.sink.file), LAST.get(diagnosis.category)
    if program is not None and handler is not None:
        yield from handler(project, program, diagnosis)
