"""Small trees to replay in, and a way to replay one change without asking torch what it sees."""

import importlib.metadata
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from devfix.replay import backends
from devfix.replay.backends import Backend, PlainCpu, Simulated
from devfix.replay.changes import Change
from devfix.replay.options import ReplayOptions
from devfix.replay.replaying import replay_on
from devfix.replay.results import ReplayResult


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder that is not the working directory's, and a place for copies that can be looked at."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(copies))
    return folder


@pytest.fixture
def replay(tree: Path) -> Callable[..., ReplayResult]:
    """Replay `before` → `after` of a script in the tree on the plain CPU; extra arguments are `ReplayOptions`."""

    def run(before: str, after: str, name: str = "train.py", **options: Any) -> ReplayResult:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(before)
        change = Change(path, before.encode(), after.encode())
        return replay_on(PlainCpu(), [change], ReplayOptions(**{"timeout": 90, **options}))[0]

    return run


@pytest.fixture(scope="session")
def simulation() -> Simulated:
    """The simulated accelerator, without asking torch what it sees."""
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return Simulated(backends.table_file(Path(spec.origin).parent, importlib.metadata.version("torch")))


@pytest.fixture
def simulated(tree: Path, simulation: Simulated) -> Callable[[str, str], ReplayResult]:
    """Replay `before` → `after` of a script in the tree on the simulated accelerator."""

    def run(before: str, after: str) -> ReplayResult:
        path = tree / "train.py"
        path.write_text(before)
        change = Change(path, before.encode(), after.encode())
        return replay_on(simulation, [change], ReplayOptions(timeout=90))[0]

    return run


@pytest.fixture
def drive(tree: Path, simulation: Simulated) -> Callable[..., ReplayResult]:
    """Replay a library file whose text has `old` before and `new` after; extra arguments are `ReplayOptions`."""

    def run(
        text: str, old: str, new: str, backend: Backend = simulation, name: str = "ops.py", **options: Any
    ) -> ReplayResult:
        path = tree / "pack" / name
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(text)
        assert old in text
        change = Change(path, text.encode(), text.replace(old, new).encode())
        return replay_on(backend, [change], ReplayOptions(**{"timeout": 90, "parallel_runs": 1, **options}))[0]

    return run


@pytest.fixture
def copies(tree: Path) -> Callable[[], list[Path]]:
    """What is left of the copies."""
    return lambda: list((tree.parent / "copies").iterdir())
