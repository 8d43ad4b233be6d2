"""The search for the driver of a target: of a call of it, and where that does not do, of the patched lines alone."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from .calling import Caller
from .driver import Target, script
from .loading import Loaded, load
from .parting import STANDING, search_parts
from .searching import MESSAGE, Found, Search, inside, told
from .subjects import Called
from .uses import names_in

CALL_SECONDS = 5.0
IMPORT_SECONDS = 30.0

Tell = Callable[[Found], None]


def search(target: Target, root: Path, tell: Tell) -> None:
    """Look for the driver of a target in the tree `root`, and tell of the best one whenever there is a better one."""
    _seed_what_is_there()
    if b"optim" in (root / target.file).read_bytes():
        torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])  # the first one imports much, which is no fault of a call
    loaded = load(target, root, Caller(IMPORT_SECONDS, inside(root), _watched(target, root)))
    caller = Caller(CALL_SECONDS, inside(root), _watched(target, root))
    if target.name and loaded.attempt.error is not None:
        tell(Found(None, "import", told(loaded.attempt, root), tuple(loaded.absent)))
        return
    absent = loaded.absent
    if not target.name:
        if not _run(target, loaded, root, tell):
            search_parts(target, absent, root, caller, tell, None)
        return
    search = _called(target, loaded.names, absent, root, caller, tell)
    if search is None or not search.is_complete:
        best = search.best[1] if search is not None and search.best is not None else None
        search_parts(target, absent, root, caller, tell, best)


def _seed_what_is_there() -> None:
    """Every call starts from a seed, which torch keeps, with its stack, for accelerators to come: a third of a call."""
    for name in ("cuda", "xpu", "mtia"):
        module = getattr(torch, name, None)
        if module is not None and hasattr(module, "manual_seed_all") and not module.is_available():
            module.manual_seed_all = lambda _seed: None


def _called(
    target: Target, names: dict[str, Any], absent: list[str], root: Path, caller: Caller, tell: Tell
) -> Search | None:
    """The search for arguments of a call."""
    try:
        subject = Called(target, {**names, **STANDING}, root, absent)
    except (LookupError, ValueError, TypeError, SyntaxError, AttributeError) as error:
        tell(Found(None, "signature", str(error)[:MESSAGE], tuple(absent)))
        return None
    search = Search(target, subject, absent, caller, root)
    search.run(tell)
    return search


def _run(target: Target, loaded: Loaded, root: Path, tell: Tell) -> bool:
    """Tell what running the file itself came to; without stand-ins a replay of the script tells the same.

    Returns: whether the patched lines ran, to the end.
    """
    attempt, file = loaded.attempt, str(root / target.file)
    reached = tuple(sorted({line for name, line in attempt.lines if name == file} & set(target.lines)))
    failed = attempt.error is not None
    why = told(attempt, root) if failed else "" if reached else "the patched lines did not run"
    text = script(target, loaded.absent) if reached and loaded.absent else None
    step = "run" if failed else None if reached else "reach the patched lines"
    absent = tuple(loaded.absent)
    tell(Found(text, step or (None if text else "target"), why, absent, reached, bool(attempt.inert)))
    return step is None


def _watched(target: Target, root: Path) -> dict[tuple[str, int], list[str]]:
    """The names in each patched statement."""
    file = str(root / target.file)
    tree = ast.parse((root / target.file).read_bytes())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno in target.lines]
    return {(file, node.lineno): list(names_in(node)) for node in statements if not hasattr(node, "body")}
