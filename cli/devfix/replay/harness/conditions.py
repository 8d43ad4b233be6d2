"""Under which conditions a driver shows what it shows: which of the values that it gives are where."""

import ast
from collections.abc import Iterator, Mapping, Sequence, Set

from devfix.replay.harness.targets import Target


def places_of(
    target: Target,
    driver: str,
    *,
    on_device: bool,
    read: Set[str] = frozenset(),
    decisive: Set[str] | None = None,
) -> tuple[Sequence[str], Sequence[str]]:
    """Which values are on the host, as the finding says, and with `on_device` which on the accelerator, in words; and
    the same of those that the project puts nowhere, as far as it shows.

    Where lines ran alone, `read` are the names that these read: the parameters among them count. The `decisive` names
    are those by which the values live that met where the error arose, if that is known.
    """
    host = target.on_host
    given = [name for name in dict.fromkeys(_on_device(driver, read)) if name not in host] if on_device else []
    devices = dict.fromkeys(_devices(driver)) if on_device else {}
    known = decisive is not None and not decisive.isdisjoint((*given, *devices))
    device = [name for name in given if name in (decisive or ())] if known else given
    shown = [name for name in device if name in target.on_device]
    assumed = [name for name in device if name not in target.on_device]
    named = [name for name in devices if name in (decisive or ())]
    placed = [(shown, "on the accelerator"), (host, "on the host, as the finding says")]
    told = [f"{_listed(names)} {where}" for names, where in placed if names]
    open_ = [(assumed, "on the accelerator"), (named, "the accelerator")]
    return told, [f"{_listed(names)} {_be(names)} {where}" for names, where in open_ if names]


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
