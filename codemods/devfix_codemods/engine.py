"""One file through all of it: trigger, parse, analyse, edit, verify."""

from collections.abc import Callable

from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import CheckOutcome, Options, RewriteOutcome
from devfix_codemods.source import Source


def check(source: Source, options: Options) -> CheckOutcome:
    """What is wrong in `source`. Never raises."""
    raise NotImplementedError


def rewrite(
    source: Source, options: Options, accept: Callable[[Finding], bool] | None = None
) -> RewriteOutcome:
    """`source` with its fixes applied: those that `options` allow, or those for which `accept` answers True. Never raises."""
    raise NotImplementedError
