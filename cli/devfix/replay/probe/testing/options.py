"""Options of pytest, and of its plugins, that a suite's own settings may have and that a replay sets aside."""

from __future__ import annotations

from typing import Any

_INSTEAD: dict[str, Any] = {
    # One process: what is seen of a test has to be seen in the process that runs it.
    "numprocesses": None,
    "dist": "no",
    "tx": [],
    "looponfail": False,
    # Every test is run, each once, to its end, and in the order in which they are written.
    "maxfail": 0,
    "continue_on_collection_errors": True,
    "usepdb": False,
    "lf": False,
    "failedfirst": False,
    "stepwise": False,
    "doctestmodules": False,
    "timeout": 0,
    "randomly_reorganize": False,
    "randomly_seed": 0,
    "random_order_bucket": "none",
    "reruns": 0,
    # Coverage traces the same lines as we do, and writes files.
    "no_cov": True,
    "cov_source": [],
    "benchmark_disable": True,
    "typeguard_packages": "",
}
"""By the name under which pytest keeps an option. Those of plugins that are not there are nobody's."""


def set_aside(options: Any) -> None:
    """Change the parsed `options`, those that are there."""
    for name, value in _INSTEAD.items():
        if hasattr(options, name):
            setattr(options, name, value)
