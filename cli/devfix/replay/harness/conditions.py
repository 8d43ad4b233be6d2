"""Under which conditions a driver shows what it shows: which of the values that it gives are where."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from devfix.replay.harness.targets import Target
from devfix.replay.harness.verdicts import LOADED_FROM_ACCELERATOR
from devfix.replay.verdicts import Runs

MOST_TOLD = 3
"""So many statements that cannot run are named."""


class Places(NamedTuple):
    """Where the values of a driver are, in words."""

    shown: Sequence[str]
    """What the finding says, or the project shows."""
    assumed: Sequence[str]
    """The names of what is on the accelerator because the driver puts it there, and nothing else."""
    chosen: Sequence[str]
    """Which devices are the accelerator."""


def places_of(
    target: Target,
    driver: str,
    *,
    on_device: bool,
    read: Set[str] = frozenset(),
    decisive: Set[str] | None = None,
) -> Places:
    """Which values are on the host, as the finding says, and with `on_device` which on the accelerator.

    Where lines ran alone, `read` are the names that these read: the parameters among them count. The `decisive` names
    are those by which the values live that met where the error arose, if that is known.
    """
    host = target.on_host
    asked = read | (decisive or set())
    given = [name for name in dict.fromkeys(_on_device(driver, asked)) if name not in host] if on_device else []
    devices = dict.fromkeys(_devices(driver)) if on_device else {}
    known = decisive is not None and not decisive.isdisjoint((*given, *devices))
    device = [name for name in given if name in (decisive or ())] if known else given
    shown = [name for name in device if name in target.on_device]
    assumed = [name for name in device if name not in target.on_device]
    named = [name for name in devices if name in (decisive or ())]
    placed = [(shown, "on the accelerator"), (host, "on the host, as the finding says")]
    told = [f"{_listed(names)} {where}" for names, where in placed if names]
    return Places(told, assumed, said(named, "the accelerator"))


def said(names: Sequence[str], where: str) -> Sequence[str]:
    """`x` is on the accelerator, in words, where there are such names."""
    return [f"{_listed(names)} {_be(names)} {where}"] if names else []


def left_open(runs: Sequence[Runs], left_out: Sequence[str], *, alone: bool) -> list[str]:
    """What has to hold besides, for what a driver has shown on the accelerator and on the host, in words.

    `left_out` are the places of the statements that did not run, and where lines ran `alone`, the program has to come
    to them.
    """
    found = [f"what cannot run here does elsewhere ({_places(left_out)})"] if left_out else []
    found += ["the program comes to these lines"] if alone else []
    if all(one.after.error is not None for one in runs):
        found.append("what follows, and fails with the driver's values, runs with others")
    if all(one.before.passed for one in runs):  # what is gone is a warning, which older releases do not give
        found.append("torch is as new as the one that ran it")
    errors = (one.before.device_error for one in runs)
    if any(one is not None and one.message.startswith(LOADED_FROM_ACCELERATOR) for one in errors):
        found.append("what is loaded was saved on an accelerator")
    return found


def made_up(driver: str, read: Set[str] = frozenset()) -> Sequence[str]:
    """Which arguments are objects of the driver's own, which stand for models, loaders and options, in words; of lines
    that ran alone, all that is given of what these read."""
    calls = [node for node in ast.walk(ast.parse(driver)) if isinstance(node, ast.Call)]
    given = (one for call in calls if ast.unparse(call.func) == "dict" for one in call.keywords)
    names = [one.arg for one in given if one.arg is not None and _is_stand_in(one.value)]
    run = (str(one.arg) for call in calls if ast.unparse(call.func) == "part.run" for one in call.keywords)
    begun = (name for call in calls if ast.unparse(call.func) == "part.begin" for name in _begun(call))
    names += [one for one in dict.fromkeys((*run, *begun)) if one in read]
    return [f"{_listed(names)} {_be(names)} as the driver makes {'it' if len(names) == 1 else 'them'}"] if names else []


def read_in(source: bytes, part: Sequence[int]) -> Set[str]:
    """The names that the lines of a part read."""
    names = (one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Name))
    return {one.id for one in names if part and part[0] <= one.lineno <= part[1] and isinstance(one.ctx, ast.Load)}


def _is_stand_in(value: ast.expr) -> bool:
    nodes = list(ast.walk(value))
    called = (ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call))
    return not _STAND_INS.isdisjoint(called) or any(isinstance(node, ast.Lambda) for node in nodes)


_STAND_INS = frozenset({"Batches", "Model", "Namespace"})


def _be(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _on_device(driver: str, read: Set[str]) -> Iterator[str]:
    """The names of the arguments, and of what else is given, that the driver puts on the device."""
    for node in ast.parse(driver).body:
        value = node.value if isinstance(node, ast.Assign | ast.Expr) else None
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            yield from [node.targets[0].attr] if _is_on_device(node.value) else []
        elif isinstance(value, ast.Call) and (ast.unparse(value.func) in ("dict", "part.run") or _makes_subject(node)):
            yield from (one.arg for one in value.keywords if one.arg is not None and _is_on_device(one.value))
        elif isinstance(value, ast.Call) and ast.unparse(value.func) == "part.begin":
            yield from (name for name, given in _begun(value).items() if name in read and _is_on_device(given))


def _devices(driver: str) -> Iterator[str]:
    """The names of the arguments that are the device itself."""
    for node in ast.walk(ast.parse(driver)):
        if isinstance(node, ast.Call) and (ast.unparse(node.func) in ("dict", "part.run")):
            yield from (one.arg for one in node.keywords if one.arg and ast.unparse(one.value) == "device")


def _begun(call: ast.Call) -> Mapping[str, ast.expr]:
    """The parameters that are given when the lines before begin."""
    given = call.args[0] if call.args else None
    pairs = zip(given.keys, given.values) if isinstance(given, ast.Dict) else ()
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


def _makes_subject(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "subject"


def _is_on_device(value: ast.expr) -> bool:
    words = (word for node in ast.walk(value) if isinstance(node, ast.Call) for word in node.keywords)
    return any(word.arg == "device" for word in words)


def _places(places: Sequence[str]) -> str:
    more = len(places) - MOST_TOLD
    return ", ".join(places[:MOST_TOLD]) + (f" and {more} more" if more > 0 else "")
