"""The newest torch that runs on the oldest Python which a project admits: one that says no torch admits that one.

Read by patterns, and not by a parser of requirements: almost every project declares its Python.
"""

import re

Version = tuple[int, int]

NEWEST_TORCH: dict[Version, Version] = {(3, 6): (1, 10), (3, 7): (1, 13)}
"""By the wheels on PyPI: the last torch for Pythons that have ended while torch went on. Newer ones have torch 2."""

_DECLARED = re.compile(
    r"(?im)(?:python_requires|requires[-_]python)[\"']?\s*[=:]\s*[\"']?([^\"'\n#]+)|^python\s*=\s*[\"']([^\"'\n]+)"
)
_BOUND = re.compile(r"(<=?|!=|>=?|~=|={1,3}|\^|~)?\s*v?(\d+)(?:\.(\d+))?[\w.*]*")
_UPPER = frozenset({"<", "<=", "!="})


def torch_by_python(text: str) -> tuple[Version, Version] | None:
    """The oldest Python that a `pyproject.toml`, `setup.cfg` or `setup.py` admits, and the last torch for it.

    None where no Python is declared, or where the oldest one still gets torch 2.
    """
    lowest = next((low for one in _DECLARED.findall(text) if (low := _lowest("".join(one))) is not None), None)
    if lowest is None or lowest > max(NEWEST_TORCH):
        return None
    return lowest, NEWEST_TORCH[max(lowest, min(NEWEST_TORCH))]


def _lowest(specifiers: str) -> Version | None:
    """The lowest (major, minor) that PEP 440's syntax, or Poetry's, admits."""
    lows = [_bound(way) for way in specifiers.split("||")]
    return min((low for low in lows if low is not None), default=None)


def _bound(specifiers: str) -> Version | None:
    bounds = _BOUND.findall(specifiers)
    return max(((int(major), int(minor or 0)) for sign, major, minor in bounds if sign not in _UPPER), default=None)
