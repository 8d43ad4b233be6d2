"""Agreement of the simulated accelerator with CUDA: genuine outcomes of operators, replayed through the simulation.

    python bench/agreement.py [--all]

`data/cuda-checks.jsonl.gz` holds what the CUDA builds of torch 2.6, 2.10 and 2.15 said when one argument of an operator
was on the host and the others on cuda:0, or the other way around: a row for each operator with at least two tensor
arguments × the misplaced argument × its dimension (0 or 2). A row holds, by release, the first line of the device error
or `passes`: none was raised, because the check let it through or because something else failed first. The device checks
run before any driver call, so they were recorded on a machine without a GPU, with tensors that claimed to be on cuda:0.

The expected outcome for another release is what the two around it say where they agree; the other rows are left out.
Each row is one call of the operator in the mode that a simulated run uses; its kernel is not run.
"""

import argparse
import gzip
import importlib
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from devfix.replay import probe
from devfix.replay.device_checks import table_file
from devfix.replay.probe.errors import DEVICE_ERRORS
from devfix.replay.probe.main import PACKAGE, load_package
from torch.utils._python_dispatch import TorchDispatchMode

DATA = Path(__file__).parent / "data" / "cuda-checks.jsonl.gz"
PASSES = "passes"
WRONG = "REFUSED THOUGH CUDA LETS IT PASS"
BAR = 0.98

ALLOCATES = "without a GPU an allocation on the device failed before the check"
MOVES = "without a GPU a copy to the device failed before the check"
UNCOUNTED = "its error was not recorded as one of devices"

WRONG_CALL = "the recorded call has a list of a wrong length, so that the check was not reached"

KNOWN = {
    # Its `output_mask` has two elements, three were passed.
    "aten::_fused_rms_norm_backward": WRONG_CALL,
    # `binary_cross_entropy_out_cuda` in cuda/Loss.cu and `binomial` in Distributions.cpp make their results first.
    "aten::binary_cross_entropy": ALLOCATES,
    "aten::binary_cross_entropy.out": ALLOCATES,
    "aten::binomial": ALLOCATES,
    # `searchsorted_cuda` in cuda/Bucketization.cu makes its result, or a tensor of the number to look for.
    "aten::searchsorted.Tensor": ALLOCATES,
    "aten::searchsorted.Scalar": ALLOCATES,
    "aten::searchsorted.Scalar_out": ALLOCATES,
    # `make_info` in TensorAdvancedIndexing.cpp moves the indices to where the indexed tensor is.
    "aten::_index_put_impl_": MOVES,
    # "scalar tensor expected to be on … but is on …" in cuda/ForeachBinaryOpScalarTensor.cu.
    "aten::_foreach_add.Tensor": UNCOUNTED,
    "aten::_foreach_add_.Tensor": UNCOUNTED,
    # `segment_reduce_kernel` in SegmentReduce.cpp asks itself: the wrapper does not look at keyword arguments.
    "aten::segment_reduce": UNCOUNTED,
}
"""Operators that were recorded as passing and that CUDA refuses all the same, with why."""

PLAIN = {
    "int": 1,
    "SymInt": 1,
    "float": 1.0,
    "number": 1,
    "bool": False,
    "str": "none",
    "List[int]": [1, 1],
    "List[SymInt]": [1, 1],
    "List[float]": [1.0, 1.0],
    "List[number]": [1.0, 1.0],
    "List[bool]": [True, True, True],
}
"""The arguments that are no tensors, by type, as in the recorded calls; optional ones are None."""

RESIZING = "Expected out tensor to have device "
"""How `resize_out` in torchgen/dest/register_dispatch_key.py begins, which no recorded row shows."""


@dataclass(frozen=True)
class Row:
    """A recorded call: the operator, its misplaced argument and that one's dimension, and the expected outcome."""

    operator: str
    misplaced: str
    dimension: int
    expected: str


@dataclass(frozen=True)
class Outcome:
    """What the simulation made of a row: the first line of what was raised, "" where the checks let it pass."""

    row: Row
    got: str

    @property
    def agrees(self) -> bool:
        """Whether the text is the expected one; where none is, whether no device error was raised."""
        return not self.refused if self.row.expected == PASSES else self.got == self.row.expected

    @property
    def refused(self) -> bool:
        """Whether a device error was raised; other errors were not recorded."""
        return any(pattern.search(self.got) for pattern in DEVICE_ERRORS)

    @property
    def cause(self) -> str:
        """Why it does not agree."""
        if self.row.expected != PASSES:
            return "refused in other words" if self.refused else "passes though CUDA refuses it"
        known = UNCOUNTED if self.got.startswith(RESIZING) else KNOWN.get(self.row.operator)
        return f"recorded as passing, but {known}" if known else WRONG


def rows(version: tuple[int, int]) -> Iterator[Row]:
    """The rows whose outcome for the torch `version` is known."""
    with gzip.open(DATA, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            said = {version_of(key): text for key, text in row.items() if key.startswith("torch ")}
            expected = _expected(said, version)
            if expected is not None:
                yield Row(row["op"], row["misplaced"], int(row["dim"][0]), expected)


def _expected(said: dict[tuple[int, int], str], version: tuple[int, int]) -> str | None:
    if version in said:
        return said[version]
    before = max((known for known in said if known < version), default=None)
    after = min((known for known in said if known > version), default=None)
    if before is None or after is None or said[before] != said[after]:
        return None
    return said[before]


def version_of(text: str) -> tuple[int, int]:
    """Major and minor number of a torch release."""
    major, minor = text.removeprefix("torch ").split(".")[:2]
    return int(major), int(minor)


class _Reached(Exception):  # noqa: N818 - not an error
    """The checks let the call pass."""


class _NoKernels(TorchDispatchMode):
    """Below the simulation's mode: no kernel runs."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise _Reached


class Replayer:
    """Calls operators under the simulation."""

    def __init__(self) -> None:
        load_package(Path(next(iter(probe.__path__))))
        state, mode, checks, claims = (
            importlib.import_module(f"{PACKAGE}.simulated.{name}") for name in ("state", "mode", "checks", "claims")
        )
        table = json.loads(table_file(Path(torch.__file__).parent, torch.__version__).read_text(encoding="utf-8"))
        simulation = state.Simulation()
        self._mode = mode.ClaimMode(simulation, checks.Checks(simulation, table))
        self._claims = claims
        self._device = claims.Claim(claims.interned(torch.device("cuda", 0)), "made here")
        self._host = claims.Claim(claims.HOST, "made here")

    def replay(self, row: Row) -> Outcome | None:
        """What becomes of the call; None where this torch has no such operator or argument."""
        operator = _operator(row.operator)
        if operator is None or row.misplaced not in [argument.name for argument in operator._schema.arguments]:
            return None
        args, kwargs = self._arguments(operator._schema, row)
        try:
            with torch.no_grad(), _NoKernels(), self._mode:
                operator(*args, **kwargs)
        except _Reached:
            return Outcome(row, "")
        except (RuntimeError, IndexError, TypeError) as error:
            return Outcome(row, str(error).partition("\n")[0])
        return Outcome(row, "")

    def _arguments(self, schema: Any, row: Row) -> tuple[list[Any], dict[str, Any]]:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for argument in schema.arguments:
            value = self._value(argument, row)
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return args, kwargs

    def _value(self, argument: Any, row: Row) -> Any:
        kind = str(argument.type)
        if "Tensor" not in kind:
            return PLAIN.get(kind)
        misplaced = argument.name == row.misplaced
        shape = () if misplaced and row.dimension == 0 else (2, 2)
        listed = "List[" in kind
        made = [self._tensor(argument.name, shape, misplaced) for _ in range(2 if listed else 1)]
        return made if listed else made[0]

    def _tensor(self, name: str, shape: tuple[int, ...], misplaced: bool) -> torch.Tensor:
        dtype = torch.int64 if name in ("index", "indices") else torch.float32
        tensor = torch.ones(shape, dtype=dtype)
        self._claims.set_claim(tensor, self._host if misplaced else self._device)
        return tensor


def _operator(name: str) -> Any:
    base, _, overload = name.removeprefix("aten::").partition(".")
    packet = getattr(torch.ops.aten, base, None)
    return getattr(packet, overload or "default", None)


def report(outcomes: Sequence[Outcome], everything: bool) -> Iterator[str]:
    """The lines to print."""
    refused = [outcome for outcome in outcomes if outcome.row.expected != PASSES]
    agreeing = sum(outcome.agrees for outcome in refused)
    yield f"torch {torch.__version__}: {len(outcomes)} rows, {len(refused)} of them with a device error"
    yield f"same text: {agreeing} of {len(refused)}, {agreeing / len(refused):.2%} (the bar is {BAR:.0%})"
    differing = [outcome for outcome in outcomes if not outcome.agrees]
    for cause, count in Counter(outcome.cause for outcome in differing).most_common():
        those = [outcome for outcome in differing if outcome.cause == cause]
        operators = Counter(outcome.row.operator for outcome in those)
        yield f"{count:5} {cause}: {', '.join(f'{name} {count}' for name, count in sorted(operators.items()))}"
        if everything:
            yield from (f"        {outcome.row}\n        got {outcome.got!r}" for outcome in those)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="print every row that differs")
    everything = parser.parse_args().all
    outcomes = replay_all()
    print(*report(outcomes, everything), sep="\n")
    refused = [outcome.agrees for outcome in outcomes if outcome.row.expected != PASSES]
    return int(
        sum(refused) < BAR * len(refused) or any(outcome.cause == WRONG for outcome in outcomes if not outcome.agrees)
    )


def replay_all() -> list[Outcome]:
    """All rows whose outcome for the torch at hand is known, replayed."""
    replayer = Replayer()
    found = (replayer.replay(row) for row in rows(version_of(torch.__version__)))
    return [outcome for outcome in found if outcome is not None]


if __name__ == "__main__":
    sys.exit(main())
