"""What a query tells of one place in a file, before a rule gives it its code."""

import ast
from dataclasses import dataclass

from devfix_codemods.findings import Fix, Step


@dataclass(frozen=True, slots=True)
class Told:
    """A message about an expression, with a fix or with advice."""

    node: ast.expr
    message: str
    fix: Fix | None = None
    advice: str | None = None
    trail: tuple[Step, ...] = ()
