"""Which files are of the tests."""

import pytest
from devfix.replay.probe.testing.files import LIBRARY, TESTS, owner


@pytest.mark.parametrize("name", ["lib/model.py", "lib/latest/contest.py", "setup.py", "src/lib/testament.py"])
def test_of_the_library(name: str) -> None:
    assert owner(name) == LIBRARY


@pytest.mark.parametrize(
    "name", ["tests/test_model.py", "lib/tests/helpers.py", "conftest.py", "lib/testing/cases.py", "lib/model_test.py"]
)
def test_of_the_tests(name: str) -> None:
    assert owner(name) == TESTS


def test_the_patterns_of_the_project_count() -> None:
    assert owner("checks/check_model.py") == LIBRARY
    assert owner("checks/check_model.py", ("check_*.py",)) == TESTS
