"""What loaders give: the data sets that they are made for, what runs in their workers, and what batches are made of."""

from collections.abc import Iterator

from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.catalogue import canonical
from devfix_codemods.catalogue.torch import LOADERS
from devfix_codemods.demands.devices import is_elsewhere, place_where
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import name, resolved
from devfix_codemods.placement.arguments import argument, is_none, keyword
from devfix_codemods.placement.calls import collate_function, method
from devfix_codemods.placement.places import Place

_READ = ("__getitems__", "__getitem__", "__iter__")
_MOST = 40


def loaders(index: Index) -> Iterator[Node]:
    """The calls that make loaders of torch."""
    return (one for one in index.calls if canonical(name(one.args[0]) or "") in LOADERS)


def entries(index: Index, loader: Node) -> list[Function]:
    """The functions of this file by which workers get items, and put them together."""
    collate = collate_function(loader)
    found = [one for made in _datasets(index, loader) for one in _reading(made, loader)]
    return found if collate is None else [*found, collate]


def in_workers(index: Index, loader: Node) -> list[Function]:
    """The functions that run in the workers of a loader."""
    found, calls = entries(index, loader), index.analysis.calls
    for function in found:  # grows by what each calls
        inner = (calls.get(one) for one in function.nodes if one.op is Op.CALL)
        found += [one for one in dict.fromkeys(inner) if one is not None and one not in found]
    return found


def placed_items(index: Index, loader: Node) -> Place | None:
    """The device on which a loader finds parts of its batches, if it surely does."""
    places = (place_where(index, one, loader) for one in _items(index, loader))
    return next((one for one in places if is_elsewhere(index, one)), None)


def _items(index: Index, loader: Node) -> Iterator[Node]:
    """What batches are made of."""
    if keyword(loader, "collate_fn") is not None:
        collate = collate_function(loader)
        yield from _parts(collate) if collate is not None else ()
        return
    for made in _datasets(index, loader):
        if called(made, "torch.utils.data.TensorDataset", "torch.utils.data.dataset.TensorDataset"):
            yield from made.args[1:]
        for function in _reading(made, loader)[:1]:
            yield from _parts(function)


def _parts(function: Function) -> Iterator[Node]:
    """What a function gives, one by one where it gives several."""
    for value, _ in function.returns:
        yield from value.args if value.op in {Op.SEQUENCE, Op.MAPPING} else (value,)


def _datasets(index: Index, loader: Node) -> list[Node]:
    """The calls that make the data that a loader reads, whatever splits and joins it."""
    first = loader.args[1:2] if loader.extras[:1] == (None,) else ()
    data = keyword(loader, "dataset")
    pending, found = [data] if data is not None else list(first), list[Node]()
    for one in pending:  # grows
        for made in index.origins.of(one) if len(pending) < _MOST else ():
            if made.op is Op.SEQUENCE:
                pending += made.args
            elif made.op is Op.ITEM:
                pending.append(made.args[0])
            elif called(made, *_SPLITTING):
                pending += made.args[1:2]
            elif made.op is Op.CALL and made not in found:
                found.append(made)
    return found


def _reading(made: Node, loader: Node) -> list[Function]:
    """The methods of a data set of this file that workers call."""
    owner = resolved(made.args[0]).extra
    if not isinstance(owner, Class):
        return []
    found = {each: one for each in _READ if (one := method(owner, each)) is not None}
    size = argument(loader, 1, "batch_size")
    in_batches = size is None or not is_none(size)
    # torch asks for a whole batch at once where the data set can give one, and one by one where there are no batches.
    found.pop("__getitem__" if "__getitems__" in found and in_batches else "__getitems__", None)
    return list(found.values())


_SPLITTING = ("torch.utils.data.random_split", "torch.utils.data.dataset.random_split")
