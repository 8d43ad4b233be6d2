"""Files that a program writes and reads again: what is loaded is where it was when it was saved."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.ir import Module, Node, Op
from devfix_codemods.ir.keys import key, name, resolved
from devfix_codemods.placement.arguments import loaded_to

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births
    from devfix_codemods.placement.kinds import Kinds


def same_kinds(kinds: "Kinds") -> None:
    """What is loaded again is of the kind of what was saved."""
    for loaded, saved in _loaded_again(kinds.module):
        kinds.unify(loaded, saved)


def loaded_again(births: "Births") -> None:
    """Add to the graph that what is loaded without a place is one of those that were saved to its file."""
    for loaded, saved in _loaded_again(births.module):
        if births.kinds.may_live(saved):
            births.graph.flows(saved, loaded, "loaded-again", loaded.guard)


def _loaded_again(module: Module) -> Iterator[tuple[Node, Node]]:
    """What is loaded, whole or entry by entry, each with what a file holds there."""
    calls = module.of(Op.CALL)
    saves = [one for one in calls if len(one.args) > 2 and name(one.args[0]) == "torch.save"]
    for load in calls if saves else ():
        if len(load.args) < 2 or effect(canonical(name(load.args[0]) or "")) is not Effect.LOAD:
            continue
        if loaded_to(load) is not None:
            continue
        for save in saves:
            if _is_file(save.args[2], load.args[1]):
                yield from _parts(module, load, resolved(save.args[1]))


def _is_file(saved: Node, loaded: Node) -> bool:
    """Whether two paths surely name one file: a constant, wherever it stands, or the same value."""
    first, second = resolved(saved), resolved(loaded)
    if first is second or (first.function is second.function and key(first) == key(second)):
        return True
    return first.op is second.op is Op.CONST and isinstance(first.extra, str) and first.extra == second.extra


def _parts(module: Module, load: Node, saved: Node) -> Iterator[tuple[Node, Node]]:
    """A tensor as it is; of a mapping, what stands under the keys that are read."""
    if saved.op is not Op.MAPPING:
        yield load, saved
        return
    entries = dict(zip(saved.extras, saved.args))
    for read in module.users.get(load, ()):
        if read.op is Op.ITEM and read.args[0] is load and read.extra in entries:
            yield read, entries[read.extra]
