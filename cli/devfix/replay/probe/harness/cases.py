"""Other arguments than those of a call that failed, for each sort of error, the likeliest first."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .proposals import About, is_settings, number_for, parts_for, proposed, settings_for
from .shapes import at_rank, shape_of, with_size
from .uses import Uses
from .values import (
    BOOL,
    CHECKPOINT,
    DEVICE,
    FLOAT,
    FUNCTION,
    LONG,
    MODELS,
    NONE,
    Arguments,
    Items,
    Named,
    Net,
    Path,
    Plain,
    Tensor,
    Value,
)

_LARGEST = 1 << 21
"""No tensor has more elements."""


@dataclass(frozen=True)
class Failure:
    """An exception of a call. `focus` are the parameters that the failing line may have to do with, those first.

    `keys` are those that a mapping in that line has, and `learned` is what the function there reads of the object that
    lacks something.
    """

    type: str
    message: str
    focus: tuple[tuple[str, str], ...] = ()
    keys: tuple[str, ...] = ()
    learned: Uses | None = None


@dataclass(frozen=True)
class Case:
    """Arguments, the failure of the call with them, and what was found in its message.

    `abouts` are all parameters, by `call` or `init` and name, those that have defaults, too.
    """

    given: Arguments
    failure: Failure
    found: Any
    abouts: Mapping[tuple[str, str], About]

    # What there is

    def tensors(self) -> list[tuple[Path, Tensor]]:
        """The tensors, those in focus first."""
        listed = [(path, value) for path, value in self.given.all() if isinstance(value, Tensor)]
        return sorted(listed, key=lambda one: self._rank(one[0]))

    def numbers(self) -> list[tuple[Path, Plain]]:
        """Whole numbers, those in focus first."""
        listed = [(path, value) for path, value in self.given.all() if isinstance(value, Plain)]
        return sorted(
            [(path, value) for path, value in listed if type(value.value) is int], key=lambda one: self._rank(one[0])
        )

    def _rank(self, path: Path) -> int:
        key = (path.where, path.name)
        return self.failure.focus.index(key) if key in self.failure.focus else len(self.failure.focus)

    def is_focus(self, path: Path) -> bool:
        return not self.failure.focus or (path.where, path.name) in self.failure.focus

    def number(self, group: int) -> int:
        return int(self.found.group(group))

    def put(self, path: Path, value: Value) -> Iterator[Arguments]:
        if isinstance(value, Tensor) and not (all(value.shape) and math.prod(value.shape) <= _LARGEST):
            return
        yield self.given.with_value(path, value)

    # Shapes

    def resized(self, old: int, new: int, last: bool = False) -> Iterator[Arguments]:
        """Dimensions of `old` become `new`, and numbers, too."""
        for path, tensor in self.tensors():
            for index in reversed(range(len(tensor.shape))):
                if tensor.shape[index] == old:
                    yield from self.put(path, with_size(tensor, index, new))
        everywhere = self.given
        for path, tensor in self.tensors():
            if old in tensor.shape:
                shape = tuple(new if size == old else size for size in tensor.shape)
                everywhere = everywhere.with_value(path, replace(tensor, shape=shape))
        yield everywhere
        for path, value in self.numbers():
            if value.value == old:
                yield from self.put(path, Plain(new))

    def ranked(self, rank: int) -> Iterator[Arguments]:
        """Tensors of another rank."""
        for path, tensor in self.tensors():
            if len(tensor.shape) != rank:
                yield from self.put(path, replace(tensor, shape=at_rank(tensor.shape, rank)))

    def sizes_agree(self) -> Iterator[Arguments]:
        one, other = self.number(1), self.number(2)
        if len(self.failure.focus) == 2:
            yield from itertools.islice(self.like_others(), 2)
        yield from self.resized(one, other)
        yield from self.resized(other, one)
        yield from self.like_others()

    def products(self) -> Iterator[Arguments]:
        """`mat1 and mat2 shapes cannot be multiplied (2x16 and 8x4)`."""
        _, inner, wanted, _ = (self.number(group) for group in (1, 2, 3, 4))
        for path, tensor in self.tensors():
            if tensor.shape and self.is_focus(path):
                yield from self.put(path, with_size(tensor, -1, wanted))
                if inner != tensor.shape[-1] and inner and tensor.shape[-1] * wanted % inner == 0:
                    yield from self.put(path, with_size(tensor, -1, tensor.shape[-1] * wanted // inner))
        yield from self.resized(inner, wanted)
        yield from self.resized(wanted, inner)
        for path, tensor in self.tensors():
            if len(tensor.shape) > 2 and inner > 0:
                for scale in (2, 4, 7, 8, 16):
                    shape = (*tensor.shape[:-2], tensor.shape[-2] * scale, tensor.shape[-1] * scale)
                    yield from self.put(path, replace(tensor, shape=shape))
        yield from self.spatial((224, 28, 299, 64, 84))

    def channels(self) -> Iterator[Arguments]:
        wanted, got = self.number(1), self.number(2)
        for path, tensor in self.tensors():
            if len(tensor.shape) > 2 and tensor.shape[-3] == got and len(tensor.shape) >= 4:
                yield from self.put(path, with_size(tensor, len(tensor.shape) - 3, wanted))
            if len(tensor.shape) > 1 and tensor.shape[1] == got:
                yield from self.put(path, with_size(tensor, 1, wanted))
        yield from self.resized(got, wanted)
        yield from self.resized(wanted, got)

    def spatial(self, sizes: Sequence[int]) -> Iterator[Arguments]:
        """Images of other sizes."""
        for size in sizes:
            for path, tensor in self.tensors():
                if len(tensor.shape) >= 4 and self.is_focus(path):
                    yield from self.put(path, replace(tensor, shape=(*tensor.shape[:-2], size, size)))
                elif len(tensor.shape) == 3:
                    yield from self.put(path, with_size(tensor, -1, size))

    def larger(self) -> Iterator[Arguments]:
        yield from self.spatial((64, 128, 224, 256))

    def unpacks(self) -> Iterator[Arguments]:
        """`not enough values to unpack (expected 4, got 2)`."""
        wanted = self.number(1)
        yield from self.ranked(wanted)
        for path, tensor in self.tensors():
            if tensor.shape:
                yield from self.put(path, with_size(tensor, 0, wanted))
        for path, value in self.given.all():
            if self.is_focus(path) and isinstance(value, (Tensor, Plain)):
                part = value if isinstance(value, Tensor) else Tensor((2, 16))
                yield from self.put(path, Items((part,) * wanted, is_tuple=True))
            elif isinstance(value, Items) and value.parts:
                filled = (*value.parts, *(value.parts[-1:] * wanted))[:wanted]
                yield from self.put(path, replace(value, parts=filled))

    def dimension(self) -> Iterator[Arguments]:
        yield from self.ranked(max(1, abs(int(self.found.group(1)))) + (1 if int(self.found.group(1)) >= 0 else 0))
        yield from self.more_dimensions()

    def wanted_rank(self) -> Iterator[Arguments]:
        for group in self.found.groups():
            if group is not None:
                yield from self.ranked(int(group))
        yield from self.more_dimensions()

    def more_dimensions(self) -> Iterator[Arguments]:
        for path, tensor in self.tensors():
            if len(tensor.shape) < 5:
                yield from self.put(path, replace(tensor, shape=at_rank(tensor.shape, len(tensor.shape) + 1)))
            if len(tensor.shape) > 1:
                yield from self.put(path, replace(tensor, shape=at_rank(tensor.shape, len(tensor.shape) - 1)))

    def like_others(self) -> Iterator[Arguments]:
        """A tensor takes the shape of another one, or that without its channels."""
        tensors = self.tensors()
        for path, tensor in tensors:
            for shape in dict.fromkeys(other.shape for _, other in tensors if other.shape != tensor.shape):
                yield from self.put(path, replace(tensor, shape=shape))
                if len(shape) > 2:
                    yield from self.put(path, replace(tensor, shape=(shape[0], *shape[2:])))
                    yield from self.put(path, replace(tensor, shape=(shape[0], 1, *shape[2:])))
                if len(shape) > 1:
                    yield from self.put(path, replace(tensor, shape=shape[:-1]))

    # Kinds of numbers

    def kinds(self, *kinds: str) -> Iterator[Arguments]:
        for kind in kinds:
            for path, tensor in self.tensors():
                if tensor.kind != kind:
                    yield from self.put(path, replace(tensor, kind=kind))

    def whole(self) -> Iterator[Arguments]:
        yield from self.kinds(LONG)

    def fractions(self) -> Iterator[Arguments]:
        yield from self.kinds(FLOAT)

    def other_kinds(self) -> Iterator[Arguments]:
        yield from self.kinds(FLOAT, LONG, BOOL)

    def booleans(self) -> Iterator[Arguments]:
        yield from self.kinds(BOOL)

    def lower(self) -> Iterator[Arguments]:
        """An index that is out of range, or a tensor that is too short for it."""
        for path, tensor in self.tensors():
            if tensor.kind == LONG and tensor.high > 1:
                yield from self.put(path, replace(tensor, high=1))
            elif tensor.kind == FLOAT and self.is_focus(path):
                yield from self.put(path, replace(tensor, kind=LONG))
        yield from self.more_dimensions()
        for path, tensor in self.tensors():
            for index, size in enumerate(tensor.shape):
                yield from self.put(path, with_size(tensor, index, size * 4))

    # Other types

    def attribute(self) -> Iterator[Arguments]:
        """`'int' object has no attribute 'shape'`."""
        owner, name = self.found.group(1), self.found.group(2)
        for path, value in self.given.all():
            if isinstance(value, Net) and owner == "Model":
                for own in (Net("same"), Net("logits"), FUNCTION, Plain(2)):
                    yield from self.put(path, value.having(name, own))
            if isinstance(value, Named) and value.is_object and owner == "Namespace":
                yield from self._completed(path, value, name)
        yield from self.retyped(_types_having(name, self))

    def maker(self) -> Iterator[Arguments]:
        """What is called to make something gives a model that has the attribute."""
        name = self.found.group(1)
        for path, value in self.given.all():
            if value == FUNCTION and self.is_focus(path):
                yield from self.put(path, Net("same", ((name, Plain(number_for(name))),), is_maker=True))
            elif isinstance(value, Net) and value.is_maker:
                yield from self.put(path, value.having(name, Plain(number_for(name))))

    def key(self) -> Iterator[Arguments]:
        name = self.found.group(1)
        for path, value in self.given.all():
            if self.is_focus(path) and not isinstance(value, Named):
                for known in self.failure.keys:
                    yield from self.put(path, Plain(known))
        for path, value in self.given.all():
            if isinstance(value, Named) and not value.is_object:
                yield from self._completed(path, value, name)
        yield from self.retyped(lambda path: [Named(((name, Tensor(shape_of(2))),))])

    def entries(self) -> Iterator[Arguments]:
        """Settings that are read by their keys."""
        for path, value in self.given.all():
            if isinstance(value, Named) and value.is_object:
                yield from self.put(path, replace(value, is_object=False))

    def no_call(self) -> Iterator[Arguments]:
        yield from self.retyped(lambda path: [FUNCTION, *MODELS])

    def no_items(self) -> Iterator[Arguments]:
        def listed(path: Path) -> list[Value]:
            own = self.given.top(path.where, path.name)
            part: Value = own if isinstance(own, (Plain, Tensor)) and not path.inside else Tensor(shape_of(2))
            return [Tensor(shape_of(3)), Items((part, part)), Items((part,) * 3), Items((part,) * 4)]

        yield from self.retyped(listed)

    def numbers_listed(self) -> Iterator[Arguments]:
        """`can only concatenate list (not "int") to list`."""
        yield from self.retyped(lambda path: [Items((Plain(8), Plain(8)))])

    def no_number(self) -> Iterator[Arguments]:
        yield from self.retyped(lambda path: [Plain(2), Plain(8), Plain(0.5), Tensor(shape_of(2))])

    def not_none(self) -> Iterator[Arguments]:
        """Options that are left out, and so are None, are given, all together first."""
        together = self.given
        for key, about in self.abouts.items():
            if key in self.failure.focus and self.given.top(*key) is None and about.parameter.default is None:
                together = together.with_value(Path(*key), proposed(about)[0])
        if together != self.given:
            yield together
        yield from self.filled()
        yield from self.no_tensor()

    def other_ways(self) -> Iterator[Arguments]:
        """Another file, or ways that need no network and no file."""
        texts = [(path, value) for path, value in self.given.all() if isinstance(value, Plain) and self.is_focus(path)]
        for path, value in texts:
            if isinstance(value.value, str):
                yield from self.put(path, CHECKPOINT)
        yield from self.options()

    def strings(self) -> Iterator[Arguments]:
        yield from self.retyped(lambda path: [Plain(str(path.inside[-1] if path.inside else path.name))])

    def no_tensor(self) -> Iterator[Arguments]:
        def made(path: Path) -> list[Value]:
            about = self.abouts.get((path.where, path.name))
            is_host = about is not None and about.is_host
            return [Tensor(shape_of(rank), is_host=is_host) for rank in (about.rank if about else 2, 2, 3, 4, 1)]

        yield from self.retyped(made)
        yield from self.filled()

    def divides(self) -> Iterator[Arguments]:
        for path, value in self.numbers():
            for number in (16, 8, 4, 32, 64, 1):
                if number != value.value:
                    yield from self.put(path, Plain(number))

    def retyped(self, choices: Callable[[Path], list[Value]]) -> Iterator[Arguments]:
        """Values in focus become others; options that were not given are given."""
        for path, value in self.given.all():
            if self.is_focus(path):
                for choice in choices(path):
                    if choice != value:
                        yield from self.put(path, choice)
        yield from self.filled()

    def filled(self) -> Iterator[Arguments]:
        """Options in focus that were left to their defaults, given."""
        for key in self.failure.focus:
            if self.given.top(*key) is None:
                for value in proposed(self.abouts[key]):
                    yield from self.put(Path(*key), value)

    def options(self) -> Iterator[Arguments]:
        for key, about in self.abouts.items():
            default = about.parameter.default
            if isinstance(default, bool):
                now = self.given.top(*key)
                is_set = now.value if isinstance(now, Plain) else default
                yield from self.put(Path(*key), Plain(not is_set))
            elif default is not inspect.Parameter.empty and self.given.top(*key) is None:
                for value in proposed(about)[:2]:
                    yield from self.put(Path(*key), value)
            for value in about.uses.equal:
                yield from self.put(Path(*key), Plain(value))
            if key[0] == "call" and default is not inspect.Parameter.empty:
                yield from self.put(Path(*key), NONE)

    def anything(self) -> Iterator[Arguments]:
        """Whatever else may help: other values that the parameters in focus may have, then those of all."""
        keys = [*self.failure.focus, *(key for key in self.abouts if key not in self.failure.focus)]
        for key in keys:
            about = self.abouts.get(key)
            if about is None or (self.given.top(*key) is None and key not in self.failure.focus):
                continue
            for value in proposed(about)[:6]:
                yield from self.put(Path(*key), value)
        yield from self.more_dimensions()
        yield from self.like_others()
        yield from self.other_kinds()

    def _completed(self, path: Path, value: Named, name: str) -> Iterator[Arguments]:
        """Settings that lack an attribute, or a dict that lacks an entry: all that is read of it there is put in."""
        learned = self.failure.learned or Uses()
        read = learned.names if value.is_object else learned.keys
        known = dict(value.parts)
        values = settings_for if is_settings(str((path.name, *path.inside)[-1])) else parts_for
        about = self.abouts.get((path.where, path.name))
        kind = (about.rank, about.is_host) if about is not None else ()
        for one, uses in read.items():
            if one not in known:
                value = value.having(one, values(str(one), uses, *kind)[0])
        for part in values(name, read.get(name, Uses()), *kind)[:4]:
            yield from self.put(path, value.having(name, part))

    def keyed(self) -> Iterator[Arguments]:
        """`list indices must be integers or slices, not str`: settings that are read by their keys."""
        keys = self.failure.learned.keys if self.failure.learned is not None else {}
        entries = tuple((one, settings_for(str(one), uses)[0]) for one, uses in keys.items())
        yield from self.retyped(lambda path: [Named(entries)])


def _types_having(name: str, case: Case) -> Callable[[Path], list[Value]]:
    def choices(path: Path) -> list[Value]:
        about = case.abouts.get((path.where, path.name))
        is_host = about is not None and about.is_host
        rank = about.rank if about is not None else 2
        if name in ("items", "keys", "values", "get"):
            return [Named((("x", Tensor(shape_of(rank), is_host=is_host)),))]
        if name in ("append", "extend", "pop"):
            return [Items((Tensor(shape_of(rank), is_host=is_host),) * 2)]
        if name in ("parameters", "train", "eval", "state_dict", "named_parameters"):
            return list(MODELS)
        if name in ("type", "index") and about is not None and "device" in about.name:
            return [DEVICE]
        if name in ("lower", "split", "startswith", "format", "endswith"):
            return [Plain(path.name)]
        if name in ("numpy", "cpu"):
            return [Tensor(shape_of(rank))]
        part = Named((), is_object=True)
        return [Tensor(shape_of(rank), is_host=is_host), part.having(name, Tensor(shape_of(rank)))]

    return choices
