"""Which torch the code needs that edits bring, whatever the rule that wrote it says."""

import re
from collections.abc import Iterable

from devfix_codemods.edits.operations import (
    AddImport,
    Edit,
    InsertStatement,
    MoveImportedName,
    RemoveStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)

Release = tuple[int, int]

_SINCE: tuple[tuple[str, Release], ...] = (
    (r"torch\.accelerator\b", (2, 6)),
    (r"torch\.amp\.(?:custom_fwd|custom_bwd|is_autocast_available)\b", (2, 4)),
    (r"torch\.amp\.GradScaler\b", (2, 3)),
    (r"\btorch\.get_default_device\b", (2, 3)),
    (r"\btorch\.set_default_device\b|\bwith torch\.device\(|\btorch\.compile\b|\btorch\.mps\b", (2, 0)),
    (r"\bweights_only *=", (1, 13)),
    (r"\btorch\.backends\.mps\b|\bpin_memory_device *=", (1, 12)),
    (r"\btorch\.(?:amp\.)?autocast\b", (1, 10)),
    (r"\btorch\.inference_mode\b", (1, 9)),
    (r"\bpersistent *= *False\b|\btorch\.cuda\.amp\b", (1, 6)),
)
"""By the release notes of torch: what a fix may write, and the first release that has it."""


def release_needed(edits: Iterable[Edit], text: str) -> Release | None:
    """The first torch that has all that `edits` bring to the source `text`; what it uses already is no news."""
    code = "\n".join(part for edit in edits for part in _code(edit))
    found = (since for pattern, since in _SINCE if re.search(pattern, code) and not re.search(pattern, text))
    return max(found, default=None)


def _code(edit: Edit) -> Iterable[str]:
    match edit:
        case InsertStatement(code=code) | ReplaceExpression(code=code) | ReplaceStatement(code=code):
            return [code]
        case RewriteCall(function=function, arguments=arguments):
            new = [f"{one.keyword}={one.value}" if one.keyword else f"{one.value}" for one in arguments or ()]
            return [f"{function or ''}({', '.join(new)})"]
        case MoveImportedName(name=name, module=module) | AddImport(module=module, name=name):
            return [f"{module}.{name}" if name else module]
        case RemoveStatement():
            return []
