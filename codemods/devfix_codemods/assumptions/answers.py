"""What a query tells of one place in a file, before a rule gives it its code."""

import ast
from dataclasses import dataclass

from devfix_codemods.findings import Finding, Fix, Step
from devfix_codemods.source import Source


@dataclass(frozen=True, slots=True)
class Answer:
    """A message about an expression, with a fix or with advice; where that comes from, and the steps that lead here."""

    node: ast.expr
    message: str
    fix: Fix | None = None
    advice: str | None = None
    origin: ast.AST | None = None
    trail: tuple[tuple[ast.AST, str], ...] = ()

    def finding(self, code: str, name: str, source: Source) -> Finding:
        """The same as the finding of a rule."""
        origin = source.span(self.origin) if self.origin is not None else None
        trail = tuple(Step(source.span(node), text) for node, text in self.trail)
        return Finding(code, name, self.message, source.span(self.node), origin, trail, self.fix, self.advice)
