"""Rows agree with what CUDA's own operators said, where these name an operator like the row.

The record leaves open whether a check of another kind came first, so an operator is compared only where all of its
arguments were refused, of two dimensions or of none.
"""

import gzip
import json
from collections import defaultdict
from pathlib import Path

import pytest
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.catalogue.effects import Effect

RECORD = Path(__file__).parents[2] / "bench/data/cuda-checks.jsonl.gz"
VERSION = "torch 2.10"

OTHERWISE = {
    "torch.nn.functional.mse_loss": "the function expands the 0-dim tensor before the operator sees it",
    "torch.nn.functional.smooth_l1_loss": "the function expands the 0-dim tensor before the operator sees it",
    ".addcdiv_": "the receiver's shape is looked at first",
    ".masked_fill_": "as an operator of a number; the tensor that is put instead may be on the host",
}
"""Rows that differ from the operator, and why."""


def refusals() -> dict[str, dict[str, list[bool]]]:
    """By operator and dimension: whether each argument was refused when it was on the host."""
    found: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    with gzip.open(RECORD, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if VERSION in row and not row["op"].endswith("out"):
                found[row["op"]][row["dim"]].append(row[VERSION] != "passes")
    return found


def named() -> dict[str, tuple[str, Effect]]:
    """Rows by the name that their operator has."""
    functions = {
        name.removeprefix("torch.nn.functional.").removeprefix("torch.").replace(".", "_"): (name, effect)
        for name, effect in rows.FUNCTIONS.items()
    }
    return functions | {name: (f".{name}", effect) for name, effect in rows.METHODS.items() if name.endswith("_")}


@pytest.fixture(scope="module")
def compared() -> list[tuple[str, Effect, list[bool], list[bool]]]:
    found = []
    by_name = named()
    for operator, refused in refusals().items():
        name, effect = by_name.get(operator.removeprefix("aten::").partition(".")[0], ("", Effect.OTHER))
        if effect in {Effect.MEET, Effect.ARITHMETIC, Effect.LIKE} and all(refused["2-dim"]):
            found.append((name, effect, refused["2-dim"], refused["0-dim"]))
    return found


def test_rows_agree(compared: list[tuple[str, Effect, list[bool], list[bool]]]) -> None:
    assert len(compared) > 80
    wrong = {
        name
        for name, effect, _, scalars in compared
        if effect is Effect.LIKE or (effect is Effect.MEET) != all(scalars)
    }
    assert wrong == OTHERWISE.keys()
