"""Samplers under a default device: they draw their indices there, with a generator of the host.

`RandomSampler`, which `DataLoader(shuffle=True)` makes, and `random_split` call `torch.randperm(n, generator=…)`. The
generator is one of the host where they are given none, and the numbers are made on the default device (torch 1.9 and
later, `torch/utils/data/sampler.py`). Samplers that pass no generator on are not concerned. The default is one of the
process: a file that is imported sets it for the one that imports it.
"""

import ast
from collections.abc import Iterable, Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.catalogue import canonical
from devfix_codemods.catalogue.torch import LOADERS, SHUFFLING
from devfix_codemods.demands.devices import may_be_accelerator
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.arguments import argument, is_none, keyword
from devfix_codemods.repairs.cut import with_keyword
from devfix_codemods.repairs.points import before, means_same

_SETS_TYPE = "torch.set_default_tensor_type"
_SETS_DEVICE = "torch.set_default_device"
_FALSE = (False, None, 0)
_TITLE = "Give it a generator on the default device, with the seed of the host's"


def shuffled_on_device(index: Index, loaded: Iterable[tuple[str, Module]] = ()) -> Iterator[Answer]:
    """Calls that shuffle without a generator under a default device that may be an accelerator.

    The file sets it, or one of those that are `loaded` with it, each with its path.
    """
    shuffling = [call for call in index.calls if _shuffles(call)]
    if not shuffling:
        return
    sets = [one for one in index.calls if _sets_default(one)]
    if sets:
        home, setters = "", _on_device(index, [one for one in sets if _surely_runs(index, one)], sets)
    else:
        home, setters = next(_set_by_others(index, loaded), ("", []))
    for call in shuffling:
        setter = next((one for one in setters if home or _may_hold(one, call)), None)
        if setter is not None:
            yield _told(index, call, setter, home)


def _may_hold(setter: Node, call: Node) -> bool:
    """Whether a default may hold where a call draws: a split draws at once, a loader when it is run through."""
    draws = canonical(name(call.args[0]) or "").endswith("random_split")
    is_later = draws and setter.function is call.function and call.index < setter.index
    return not is_later and not contradictory(setter.guard, call.guard)


def _sets_default(call: Node) -> bool:
    return called(call, _SETS_TYPE, _SETS_DEVICE) and len(call.args) == 2


def _on_device(index: Index, run: list[Node], sets: list[Node]) -> list[Node]:
    """Of the calls that are run, those that may set an accelerator; none where the default may be set back."""
    found = [one for one in run if _may_set_accelerator(index, one)]
    others = (one for one in sets if one not in found)
    return found if all(_gives_way(one, each) for one in others for each in found) else []


def _gives_way(setter: Node, later: Node) -> bool:
    """Whether what is set does not hold behind `later`: that runs after it, or where it does not."""
    before = setter.function is later.function and setter.index < later.index
    return before or contradictory(setter.guard, later.guard)


def _set_by_others(index: Index, loaded: Iterable[tuple[str, Module]]) -> Iterator[tuple[str, list[Node]]]:
    """What sets an accelerator by being imported, in the first file that sets a default so."""
    for path, module in loaded:
        sets = [one for one in module.of(Op.CALL) if _sets_default(one)]
        run = [one for one in sets if one.function.parent is None and not _is_of_script(one)]
        if run:
            yield path, _on_device(index, run, run)


def _is_of_script(call: Node) -> bool:
    """Whether a call stands below `if __name__ == "__main__":`, so that no import runs it."""
    return any("__main__" in repr(atom) for atom, _ in call.guard)


def _may_set_accelerator(index: Index, setter: Node) -> bool:
    if called(setter, _SETS_DEVICE):
        return may_be_accelerator(index, setter.args[1])
    return any(map(_is_cuda_type, index.origins.of(setter.args[1])))


def _is_cuda_type(given: Node) -> bool:
    """`torch.cuda.FloatTensor`, or its name."""
    said = given.extra if given.op is Op.CONST else name(given)
    return isinstance(said, str) and said.startswith("torch.cuda.")


def _surely_runs(index: Index, setter: Node) -> bool:
    """Whether the file itself runs what sets a default: another one may never call it."""
    return setter.function.parent is None or bool(index.callers(setter.function))


def _shuffles(call: Node) -> bool:
    """Whether a call draws indices with a generator that it makes itself, on the host."""
    qualified = canonical(name(call.args[0]) or "")
    given = keyword(call, "generator")
    if qualified not in SHUFFLING or "**" in call.extras or (given is not None and not is_none(given)):
        return False
    if given is None and argument(call, _position(qualified), "generator") is not None:
        return False
    if qualified not in LOADERS:
        return True
    shuffle, samplers = argument(call, 2, "shuffle"), (argument(call, 3, "sampler"), argument(call, 4, "batch_sampler"))
    return (
        shuffle is not None
        and not (shuffle.op is Op.CONST and shuffle.extra in _FALSE)
        and all(one is None or is_none(one) for one in samplers)
    )


def _position(qualified: str) -> int:
    """Where a generator stands that is given without its keyword."""
    if qualified in LOADERS:
        return 12
    return 2 if qualified.endswith("random_split") else 3


def _told(index: Index, call: Node, setter: Node, home: str) -> Answer:
    """`home` is the file that sets the default, where that is another one."""
    assert isinstance(call.syntax, ast.Call)
    assert isinstance(setter.syntax, ast.Call)
    called_by = index.text(call.syntax.func)
    where = f"line {setter.line} of `{home.rpartition('/')[2]}`" if home else f"line {setter.line}"
    drawn = (call.syntax, "indices are drawn there, with a generator of the host")
    return Answer(
        call.syntax,
        f"`{called_by}` shuffles with a generator on the host, but its indices are drawn on the default device",
        _fix(index, call, setter),
        f"give it `generator=torch.Generator(…)` on the default device, which {where} sets",
        None if home else setter.syntax,
        (drawn,) if home else ((setter.syntax, "the default device is set here"), drawn),
    )


def _fix(index: Index, call: Node, setter: Node) -> Fix | None:
    """None leaves it as it was where the default is the host. A generator without a seed would give the same numbers in
    each run: it takes the seed of the one that was used."""
    top = index.analysis.module.top.finals
    torch = next((word for word, one in top.items() if one.op is Op.REF and one.extra == "torch"), None)
    if not isinstance(torch, str) or not isinstance(call.syntax, ast.Call):
        return None
    always = _is_always_cuda(index, setter)
    device = '"cuda"' if always else _named(index, call, setter) or f"{torch}.empty(0).device"
    code = f"{torch}.Generator(device={device}).manual_seed({torch}.initial_seed())"
    where = "" if always else f" if {torch}.empty(0).is_cuda else None"
    return Fix(Safety.SAFE, _TITLE, (with_keyword(index.source, call.syntax, code + where, "generator"),))


def _is_always_cuda(index: Index, setter: Node) -> bool:
    """`torch.set_default_device("cuda")`, under no condition, nor in a function that is called under one."""
    given = setter.args[1]
    said = _is_cuda_type(given) or (given.op is Op.CONST and given.extra == "cuda")
    return said and not setter.guard and not any(one.guard for one in index.callers(setter.function))


def _named(index: Index, call: Node, setter: Node) -> str | None:
    """The name of the device that is the default, where the call can say it."""
    assert isinstance(setter.syntax, ast.Call)
    written = next(iter(setter.syntax.args), None)
    point = before(call)
    if setter.function.module is not call.function.module or called(setter, _SETS_TYPE):
        return None
    if not setter.guard <= call.guard or point is None:
        return None
    named = isinstance(written, ast.Name) and means_same(index.analysis, written, setter, point)
    return index.text(written) if named and written is not None else None
