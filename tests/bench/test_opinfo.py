"""Operators of torch's own database, a few of each class, on the host and on the simulated device."""

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")

ENTRIES = {
    "arithmetic": ("add", "pow", "sgn", "lerp"),
    "reductions": ("sum", "amax", "var_mean"),
    "matrices": ("addmm", "bmm", "einsum", "linalg.matrix_rank", "linalg.cond", "linalg.solve"),
    "indices": ("index_select", "gather", "scatter_add", "index_put", "take_along_dim", "masked_fill"),
    "layers": ("nn.functional.conv2d", "nn.functional.layer_norm", "nn.functional.embedding"),
    "losses": ("nn.functional.cross_entropy", "nn.functional.mse_loss"),
    "lists": ("cat", "stack", "block_diag", "tensor_split", "combinations"),
    "factories": ("zeros", "empty", "new_full", "ones_like", "linspace"),
    "views": ("transpose", "reshape", "unfold"),
    "random": ("normal", "bernoulli", "nn.functional.dropout"),
}


@pytest.mark.slow
def test_a_few_operators_of_each_class_are_the_same_and_refuse_the_same(tmp_path: Path) -> None:
    names = [name for names in ENTRIES.values() for name in names]
    rows = tmp_path / "rows.jsonl"
    command = [sys.executable, str(BENCH / "opinfo.py"), "--samples", "3", "--rows", str(rows), "--only", *names]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    told = [json.loads(line) for line in rows.read_text().splitlines()]
    differing = [one for one in told if one["got"] != one["wanted"] != "no recorded outcome"]
    assert differing == []
    assert {"forward", "gradients", "mixed"} == {one["what"] for one in told}
    assert len({one["entry"] for one in told}) >= len(names)
    assert {"refused", "passes"} < {one["wanted"] for one in told}


def test_what_differs_is_told_by_its_cause() -> None:
    opinfo: Any = importlib.import_module("opinfo")  # it imports torch, for which collecting tests does not wait
    told = opinfo.Told("add", 0, opinfo.FORWARD, opinfo.EQUAL, opinfo.EQUAL)
    wrong = replace(told, entry="cond", got="claims cpu")
    mixed = replace(told, what=opinfo.MIXED, wanted=opinfo.REFUSED, got=opinfo.PASSES, tensor=1)
    unknown = replace(mixed, wanted=opinfo.UNKNOWN)
    left = replace(told, entry="histogram", what=opinfo.LEFT_OUT, wanted="no samples", got="no samples")
    lines = list(opinfo.report([*[told] * 999, wrong, mixed, unknown, left], everything=False))
    assert lines[1:] == [
        "equal: 999 of 1000, 99.90% (the bar is 99.5%)",
        "    1 claims cpu: cond 1",
        "mixed places as recorded: 0 of 1, 0.00% (the bar is 99.0%)",
        "    1 refused by the record, here passes: add 1",
        "mixed places of which nothing is recorded, not counted: 1",
        "left out, since no samples: histogram 1",
    ]
    assert opinfo.holds([*[told] * 999, wrong, unknown, left])
    assert not opinfo.holds([told, wrong])
    assert not opinfo.holds([told, mixed])
