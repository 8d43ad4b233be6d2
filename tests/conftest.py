"""What holds for all tests."""

import gc
import signal
import sys
from collections.abc import Generator

import pytest
from devfix.replay.confinement import Bubblewrap, find_confinement

# A shell lets what it starts in the background ignore these, and programs that tests start and end would do the same.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Ten thousand tests stay to the end: they are not looked through for garbage, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def bubblewrap() -> Bubblewrap:
    """The sandbox, in which these tests' own interpreter can be run."""
    found = find_confinement(sys.executable)
    if isinstance(found, str):
        pytest.skip(found)
    return found
