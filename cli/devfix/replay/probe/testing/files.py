"""Which files of a tree are tests, and which are the library that they test. Also used outside of the probe."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from pathlib import PurePosixPath

TESTS = "tests"
LIBRARY = "library"

FOLDERS = frozenset(("tests", "test", "testing", "unittests", "unittest", "unit_tests", "_tests", "test_utils"))
"""Folders whose files are tests or help tests, also inside of a package."""
PATTERNS = ("test_*.py", "*_test.py")
"""What pytest takes for files with tests unless its `python_files` says otherwise."""
_HELPERS = ("conftest.py", "noxfile.py", "*_testing.py", "testing_*.py", "testing.py", "test_utils.py", "tests.py")


def owner(name: str, patterns: Sequence[str] = PATTERNS) -> str:
    """Whether the file `name`, relative to its tree and with forward slashes, is of the tests or of the library."""
    path = PurePosixPath(name)
    if not FOLDERS.isdisjoint(part.lower() for part in path.parts[:-1]):
        return TESTS
    return TESTS if any(fnmatch.fnmatch(path.name, pattern) for pattern in (*patterns, *_HELPERS)) else LIBRARY
