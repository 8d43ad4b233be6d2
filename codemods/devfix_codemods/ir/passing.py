"""Calls that give the elements of what they get, one by one or all of them."""

from devfix_codemods.ir.nodes import Node, Op

PASSING = frozenset({"builtins.iter", "builtins.list", "builtins.tuple", "builtins.reversed", "builtins.sorted"})
PASSING |= {"itertools.islice", "itertools.cycle", "builtins.next"}
_PROGRESS_BARS = frozenset(
    {"tqdm", "trange", "tqdm_notebook", "stqdm", "track", "alive_it", "progressbar", "progress_bar"}
)
"""Of tqdm, stqdm, rich, alive-progress, progressbar2, click and fastprogress, wherever they are imported from."""


def is_next_of_iterator(callee: Node) -> bool:
    """`rows.next` of `rows = iter(loader)`."""
    made = callee.args[0] if callee.op is Op.ATTR and callee.extra == "next" else None
    return made is not None and made.op is Op.CALL and made.args[0].extra == "builtins.iter"


def shows_progress(value: Node) -> bool:
    """Whether a value is a progress bar of a library, which gives the elements of what it is made with."""
    callee = value.args[0] if value.op is Op.CALL else None
    return callee is not None and callee.op is Op.REF and str(callee.extra).rpartition(".")[2] in _PROGRESS_BARS
