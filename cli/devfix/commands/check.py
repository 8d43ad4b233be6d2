"""`devfix check`."""

from devfix.commands import options
from devfix.commands.grouping import grouped


@grouped
def check(paths: options.Paths = None, *, analysis: options.PathOptions) -> int:
    """Say what is wrong, and why. Changes nothing."""
    from devfix.checking import check as run

    return run(analysis.ask_for(paths))
