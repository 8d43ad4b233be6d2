"""Whether a fix can stand at its place: what no rule can be trusted to see of all programs, asked of every fix."""

from devfix_codemods.applicability.attributes import unset_attributes
from devfix_codemods.applicability.devices import without_device, without_move
from devfix_codemods.applicability.late_names import late_names
from devfix_codemods.applicability.names import unbound_names
from devfix_codemods.applicability.tuples import several_values
from devfix_codemods.findings import Fix
from devfix_codemods.program import Program


def inapplicable(program: Program, fix: Fix) -> str | None:
    """What speaks against `fix`, as the rest of a sentence about it; None where nothing does."""
    missing = [*unbound_names(program, fix), *unset_attributes(program, fix), *without_device(program, fix)]
    if missing:
        return f"needs {_listed(missing)}, bound at its place."
    moved = without_move(program, fix)
    if moved:
        return f"needs {_listed(moved)}, and the code asks whether that is a tensor."
    late = late_names(program, fix)
    if late:
        return f"needs {_listed(late)}, which the file binds only after this runs."
    several = several_values(program, fix)
    return f"moves one value, and {_listed(several)} gives several." if several else None


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)
