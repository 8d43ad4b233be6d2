"""The simulated accelerator against torch's own operator database: every entry of `op_db`.

    python bench/opinfo.py [--samples 3] [--only NAME …] [--shard 1/4] [--rows OUT.jsonl] [--all]
    python bench/opinfo.py --read OUT.jsonl …

*Equal*: each sample is run on the host and on the simulated device, forward and, where the entry has gradients,
backward. The values have to be the same, bit for bit, and everything that comes back has to be on the device. What a
sample for a device makes on the host (indices to split at) is there.

*Mixed*: each tensor of each sample in turn stays on the host while the others are on the device. Whether CUDA refuses
that is known from outcomes that were recorded from CUDA builds (`agreement.py`): the operators that the sample runs on
the host are followed, with the places that their results would have, and the recorded row of each that places meet in
says whether it passes. Where an operator has no row the outcome is not known, and the call is not counted.

Where numbers differ, both are tried again with memory that nobody has written to filled. Entries without a type of
numbers that the host and CUDA share are left out. `--rows` keeps what came out of a part of the entries, and
`--read` reports on such parts.
"""

import argparse
import contextlib
import importlib
import importlib.util
import itertools
import json
import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import agreement
import torch
from devfix.replay import probe
from devfix.replay.device_checks import table_file
from devfix.replay.probe.errors import DEVICE_ERRORS
from devfix.replay.probe.main import PACKAGE, load_package
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

EQUAL_BAR, MIXED_BAR = 0.995, 0.99
EQUAL, FORWARD, GRADIENTS, MIXED, LEFT_OUT = "equal", "forward", "gradients", "mixed", "left out"
OTHER_NUMBERS, FAILS_ALIKE = "other numbers", "a call fails on the host, and alike"
REFUSED, PASSES, UNKNOWN = "refused", "passes", "no recorded outcome"
MARK = "_bench_place"

ABOVE = {
    "_segment_reduce": REFUSED,  # `segment_reduce` in SegmentReduce.cpp
    "meshgrid": REFUSED,  # `meshgrid` in TensorShape.cpp
    "nn.functional.ctc_loss": PASSES,  # LossCTC.cpp moves the targets
    "take_along_dim": REFUSED,  # `_take_along_dim_helper` in TensorAdvancedIndexing.cpp
}
"""Entries whose function compares places, or moves a tensor, before it reaches an operator: no row tells of that."""


@dataclass(frozen=True)
class Told:
    """What came of one call: of which entry and sample, what was looked at, what was wanted and what came.

    `tensor` is the number of the one that was left on the host, None where all were in one place.
    """

    entry: str
    sample: int
    what: str
    wanted: str
    got: str
    tensor: int | None = None

    @property
    def agrees(self) -> bool:
        return self.got == self.wanted


# The simulation


class Simulated:
    """The simulation, in this process from now on, and what is asked of it."""

    def __init__(self) -> None:
        load_package(Path(next(iter(probe.__path__))))
        simulated, state = (importlib.import_module(f"{PACKAGE}.{name}") for name in ("simulated", "simulated.state"))
        table = json.loads(table_file(Path(torch.__file__).parent, torch.__version__).read_text(encoding="utf-8"))
        self._simulation = state.Simulation()
        simulated.install(self._simulation, table)
        self.gap: Callable[[BaseException], str | None] = importlib.import_module(f"{PACKAGE}.simulated.gaps").gap

    def is_refused(self, error: BaseException) -> bool:
        """Whether an error says that places differ."""
        return any(pattern.search(str(error)) for pattern in DEVICE_ERRORS)


def database() -> list[Any]:
    """The entries of `op_db`. Torch's test utilities want a module for assertions, of which nothing is used here."""
    if importlib.util.find_spec("expecttest") is None:
        sys.modules["expecttest"] = types.ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase  # type: ignore[attr-defined]
    module = importlib.import_module("torch.testing._internal.common_methods_invocations")
    return list(module.op_db)


def dtype_of(entry: Any) -> torch.dtype | None:
    """The type of numbers to try: one that has gradients where there is one; None where CUDA or the host has none."""
    on_both = set(entry.dtypes) & set(entry.dtypesIfCUDA)
    order = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool, torch.float16, torch.bfloat16)
    return next((dtype for dtype in order if dtype in on_both), next(iter(on_both), None))


# One sample in several places


@dataclass(frozen=True)
class Sample:
    """What a call is given. `places` are those of its tensors where it was made for the device."""

    input: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    places: tuple[str, ...] = ()

    @property
    def tensors(self) -> list[torch.Tensor]:
        """The tensors in it, each once, in order."""
        leaves = tree_leaves((self.input, self.args, self.kwargs))
        return list({id(leaf): leaf for leaf in leaves if isinstance(leaf, torch.Tensor)}.values())

    def at(self, places: Sequence[str], device: str, made: Callable[[torch.Tensor, str], torch.Tensor]) -> "Sample":
        """With `made(tensor, place)` for each of its tensors, and `device` for each device that is named."""
        new = {id(tensor): made(tensor, place) for tensor, place in zip(self.tensors, places, strict=True)}

        def change(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                return new[id(value)]
            return torch.device(device) if isinstance(value, torch.device) else value

        changed = [tree_map(change, part) for part in (self.input, self.args, self.kwargs)]
        if isinstance(changed[2].get("device"), str):
            changed[2]["device"] = device
        return Sample(changed[0], changed[1], changed[2])


def samples(entry: Any, dtype: torch.dtype, count: int) -> Iterator[Sample]:
    """The first samples of an entry, with the places that their tensors have on the device."""
    for one, other in itertools.islice(zip(_made(entry, "cpu", dtype), _made(entry, "cuda:0", dtype)), count):
        places = ["cpu" if str(tensor.device) == "cpu" else "cuda" for tensor in other.tensors]
        yield replace(one, places=tuple(places))


def _made(entry: Any, device: str, dtype: torch.dtype) -> Iterator[Sample]:
    torch.manual_seed(0)
    for sample in entry.sample_inputs(device, dtype, requires_grad=entry.supports_autograd and dtype.is_floating_point):
        yield Sample(sample.input, tuple(sample.args), dict(sample.kwargs))


def copied(tensor: torch.Tensor, device: str) -> torch.Tensor:
    """A leaf with the values of `tensor` on a device."""
    return tensor.detach().clone().to(device).requires_grad_(tensor.requires_grad)


# Equal


def compared(simulated: Simulated, entry: Any, sample: Sample) -> Iterator[tuple[str, str]]:
    """What was looked at, and whether it is equal, or else why not."""
    host = sample.at(["cpu"] * len(sample.places), "cpu", copied)
    device = sample.at(sample.places, "cuda:0", copied)
    wanted, error = _called(entry, host)
    got, other = _called(entry, device)
    if error is not None and other is not None and str(error) == str(other):
        yield LEFT_OUT, FAILS_ALIKE
        return
    if error is not None or other is not None:
        yield FORWARD, _why(simulated, error, other)
        return
    yield FORWARD, _difference(wanted, got)
    if entry.supports_autograd and any(tensor.requires_grad for tensor in host.tensors):
        found = _gradients_differ(simulated, host, wanted, device, got)
        yield (LEFT_OUT if found == FAILS_ALIKE else GRADIENTS), found


def _called(entry: Any, sample: Sample) -> tuple[Any, Exception | None]:
    torch.manual_seed(1)
    torch.cuda.manual_seed(1)
    try:
        return entry.op(sample.input, *sample.args, **sample.kwargs), None
    except Exception as error:
        return None, error


def _why(simulated: Simulated, error: Exception | None, other: Exception | None) -> str:
    if other is None:
        return "passes on the device, and fails on the host"
    gap = simulated.gap(other)
    if gap is not None or type(other).__name__ == "NotSimulated":
        return f"not simulated: {gap or _first_line(other)}"
    return f"{type(other).__name__}: {_first_line(other)}" if error is None else "fails with another error"


def _gradients_differ(simulated: Simulated, host: Sample, wanted: Any, device: Sample, got: Any) -> str:
    results: list[list[torch.Tensor | None]] = []
    errors: list[Exception | None] = []
    for sample, result in ((host, wanted), (device, got)):
        leaves = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor) and leaf.requires_grad]
        inputs = [tensor for tensor in sample.tensors if tensor.requires_grad]
        try:
            total = sum(leaf.abs().sum() if leaf.is_complex() else leaf.sum() for leaf in leaves)
            found = torch.autograd.grad(total, inputs, allow_unused=True) if leaves else ()
        except Exception as error:
            results.append([])
            errors.append(error)
        else:
            results.append(list(found))
            errors.append(None)
    if errors != [None, None]:
        same = None not in errors and str(errors[0]) == str(errors[1])
        return FAILS_ALIKE if same else _why(simulated, *errors)
    return _difference(results[0], results[1])


def _difference(wanted: Any, got: Any) -> str:
    first, second = tree_leaves(wanted), tree_leaves(got)
    if len(first) != len(second):
        return "another number of results"
    for one, other in zip(first, second):
        if not isinstance(one, torch.Tensor):
            if one != other and not (one != one and other != other) and not isinstance(one, (torch.device, str)):
                return "another value"
        elif str(other.device) != "cuda:0":
            return f"claims {other.device}"
        elif not _is_same(one, other):
            return OTHER_NUMBERS
    return EQUAL


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
        return False
    if one.layout is not torch.strided:
        return _is_same(one.to_dense(), other.to_dense())
    if one.is_quantized:
        one, other = one.int_repr(), other.int_repr()
    one, other = one.detach(), other.detach().cpu()
    if one.dtype is torch.complex32:
        one, other = one.to(torch.complex64), other.to(torch.complex64)
    return bool(torch.equal(one, other) or torch.allclose(one, other, 0, 0, equal_nan=True))


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0][:150]


# Mixed


class Recorded(TorchDispatchMode):
    """Follows the operators of a call, with the places of their tensors, and looks up what CUDA did with each mix.

    `outcome` is the first that is no pass: a refusal, or an operator without a row.
    """

    def __init__(self, refusals: dict[tuple[str, str, int], bool]) -> None:
        super().__init__()
        self._refusals = refusals
        self.outcome = PASSES

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        given = dict(zip((argument.name for argument in func._schema.arguments), args), **kwargs)
        placed = [
            (name, tensor, place)
            for name, value in given.items()
            for tensor in tree_leaves(value)
            if isinstance(tensor, torch.Tensor) and (place := _mark_of(tensor)) is not None
        ]
        places = {place for _, _, place in placed}
        if len(places) > 1 and self.outcome is PASSES:
            self.outcome = self._looked_up(func.name(), [(name, one.dim()) for name, one, at in placed if at == "cpu"])
        result = func(*args, **kwargs)
        if places:
            for leaf in tree_leaves(result):
                if isinstance(leaf, torch.Tensor) and _mark_of(leaf) is None:
                    _mark(leaf, "cuda" if "cuda" in places else "cpu")
        return result

    def _looked_up(self, operator: str, on_host: Sequence[tuple[str, int]]) -> str:
        found = [self._refusals.get((operator, name, 0 if dimensions == 0 else 2)) for name, dimensions in on_host]
        if True in found:
            return REFUSED
        return UNKNOWN if None in found else PASSES


def refusals() -> dict[tuple[str, str, int], bool]:
    """By operator, misplaced argument and its dimension, whether CUDA refused the call in this torch.

    Without operators of which no call with a tensor of two dimensions was refused: that a mask was not of bool, or
    another check, may have come before. So it was for those that `agreement` knows.
    """
    rows = list(agreement.rows(agreement.version_of(torch.__version__)))
    telling = {row.operator for row in rows if row.dimension and row.expected != agreement.PASSES}
    return {
        (row.operator, row.misplaced, row.dimension): row.expected != agreement.PASSES
        for row in rows
        if row.operator in telling - agreement.KNOWN.keys()
    }


def _mark(tensor: torch.Tensor, place: str) -> None:
    try:
        tensor.untyped_storage().__dict__[MARK] = place
    except (NotImplementedError, RuntimeError):
        """It has no storage: it may be anywhere."""


def _mark_of(tensor: torch.Tensor) -> str | None:
    try:
        return tensor.untyped_storage().__dict__.get(MARK)
    except (NotImplementedError, RuntimeError):
        return None


def mixed(
    simulated: Simulated, entry: Any, sample: Sample, known: dict[tuple[str, str, int], bool]
) -> Iterator[tuple[int, str, str]]:
    """For each tensor that stays on the host: its number, what CUDA does, and what the simulation did."""
    count = len(sample.tensors)
    for number in range(count if count > 1 else 0):
        if sample.places[number] == "cpu":
            continue
        places = [*sample.places[:number], "cpu", *sample.places[number + 1 :]]
        mode = Recorded(known)
        with mode:
            _, failed = _called(entry, sample.at(places, "cpu", _marked))
        if failed is not None and mode.outcome is PASSES:
            continue
        _, error = _called(entry, sample.at(places, "cuda:0", copied))
        wanted = ABOVE.get(entry.name, mode.outcome)
        if error is None:
            yield number, wanted, PASSES
        elif simulated.is_refused(error):
            yield number, wanted, REFUSED
        else:
            yield number, wanted, f"{type(error).__name__}: {_first_line(error)}"


def _marked(tensor: torch.Tensor, place: str) -> torch.Tensor:
    made = copied(tensor, "cpu")
    _mark(made, place)
    return made


# All of it


def told(simulated: Simulated, entry: Any, count: int, known: dict[tuple[str, str, int], bool]) -> Iterator[Told]:
    """What comes of an entry."""
    name, dtype = entry.formatted_name, dtype_of(entry)
    if dtype is None:
        why = "the host and CUDA share no type of numbers"
        yield Told(name, 0, LEFT_OUT, why, why)
        return
    number = -1
    for number, sample in enumerate(samples(entry, dtype, count)):
        found = dict(compared(simulated, entry, sample))
        if OTHER_NUMBERS in found.values():
            with _filled_memory():
                found |= dict(compared(simulated, entry, sample))
        for what, got in found.items():
            yield Told(name, number, what, got if what == LEFT_OUT else EQUAL, got)
        for tensor, wanted, got in mixed(simulated, entry, sample, known):
            yield Told(name, number, MIXED, wanted, got, tensor)
    if number < 0:
        yield Told(name, 0, LEFT_OUT, "it has no samples", "it has no samples")


@contextlib.contextmanager
def _filled_memory() -> Iterator[None]:
    """Have what is made and not written to filled with the same everywhere."""
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def run(count: int, only: Sequence[str] | None = None, part: int = 1, parts: int = 1) -> Iterator[Told]:
    """What comes of the entries called `only`, or of one part of them all, in this process, which simulates then."""
    simulated, known = Simulated(), refusals()
    entries = [entry for entry in database() if only is None or entry.name in only]
    for entry in entries[part - 1 :: parts]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield from told(simulated, entry, count, known)


def report(found: Sequence[Told], everything: bool) -> Iterator[str]:
    """The lines to print."""
    equal = [one for one in found if one.what in (FORWARD, GRADIENTS)]
    known = [one for one in found if one.what == MIXED and one.wanted != UNKNOWN]
    yield f"torch {torch.__version__}: {len({one.entry for one in found})} entries of op_db"
    for title, those, bar in (("equal", equal, EQUAL_BAR), ("mixed places as recorded", known, MIXED_BAR)):
        agreeing = sum(one.agrees for one in those)
        yield f"{title}: {agreeing} of {len(those)}, {agreeing / max(len(those), 1):.2%} (the bar is {bar:.1%})"
        for cause, count in Counter(_cause(one) for one in those if not one.agrees).most_common():
            names = Counter(one.entry for one in those if not one.agrees and _cause(one) == cause)
            yield f"{count:5} {cause}: {', '.join(f'{name} {number}' for name, number in sorted(names.items()))}"
    unknown = sum(one.wanted == UNKNOWN for one in found)
    yield f"mixed places of which nothing is recorded, not counted: {unknown}"
    for cause in sorted({one.got for one in found if one.what == LEFT_OUT}):
        names = Counter(one.entry for one in found if one.what == LEFT_OUT and one.got == cause)
        yield f"left out, since {cause}: {', '.join(f'{name} {number}' for name, number in sorted(names.items()))}"
    if everything:
        yield from (str(one) for one in found if not one.agrees and one.wanted != UNKNOWN)


def _cause(one: Told) -> str:
    return one.got if one.what != MIXED else f"{one.wanted} by the record, here {one.got}"


def holds(found: Sequence[Told]) -> bool:
    """Whether the bars are met."""
    parts = (
        ([one.agrees for one in found if one.what in (FORWARD, GRADIENTS)], EQUAL_BAR),
        ([one.agrees for one in found if one.what == MIXED and one.wanted != UNKNOWN], MIXED_BAR),
    )
    return all(sum(those) >= bar * len(those) for those, bar in parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=3, help="how many samples of each entry")
    parser.add_argument("--only", nargs="+", help="entries of these names")
    parser.add_argument("--shard", default="1/1", help="the part of the entries to run, such as 2/4")
    parser.add_argument("--rows", type=Path, help="a file to add what came out to, a line each")
    parser.add_argument("--read", type=Path, nargs="+", help="files of --rows to report on; nothing is run")
    parser.add_argument("--all", action="store_true", help="print every call that differs")
    arguments = parser.parse_args()
    if arguments.read:
        lines = [line for file in arguments.read for line in file.read_text(encoding="utf-8").splitlines()]
        found = [Told(**json.loads(line)) for line in lines]
    else:
        found = list(_run(arguments))
    print(*report(found, arguments.all), sep="\n")
    return int(not holds(found))


def _run(arguments: argparse.Namespace) -> Iterator[Told]:
    part, _, parts = arguments.shard.partition("/")
    for one in run(arguments.samples, arguments.only, int(part), int(parts)):
        if arguments.rows is not None:
            with arguments.rows.open("a", encoding="utf-8") as rows:
                rows.write(json.dumps(asdict(one)) + "\n")
        yield one


if __name__ == "__main__":
    sys.exit(main())
