"""The probes above the kernels: the simulation answers what CUDA is known to answer, but for a listed few."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow

RUN = Path(__file__).parents[3] / "bench" / "probes" / "run.py"
SECONDS = 300

KNOWN: dict[str, str] = {}
"""By title, the probes that the simulation answers otherwise, each with the reason."""


@pytest.fixture(scope="module")
def output() -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, str(RUN)], capture_output=True, text=True, env=environment, timeout=SECONDS)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_no_probe_is_answered_otherwise_than_by_cuda_but_the_known_ones(output: str) -> None:
    differing = set(re.findall(r"^(.+)\n  expected ", output, re.MULTILINE))
    assert differing == set(KNOWN), output


def test_the_battery_is_large(output: str) -> None:
    """A battery that loads nothing would agree with everything."""
    (count,) = re.findall(r"^\| all \| (\d+) \|", output, re.MULTILINE)
    assert int(count) >= 400
