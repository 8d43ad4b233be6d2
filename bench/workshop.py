"""What the benchmarks stand on: virtual environments, the tree of libraries, and runs with their cost."""

import contextlib
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
_DONE = "done.txt"
_KEPT = ("HOME", "LANG", "LC_ALL", "PATH", "TMPDIR")


class BenchError(Exception):
    """The measurement cannot go on. The message says why."""


@dataclass(frozen=True)
class Run:
    """One run of a command.

    Attributes:
        code: its exit code, or None where it was ended at the time limit.
        seconds: by the clock, from before its start to after its end.
        cpu: processor seconds of it and of all its own processes, in user and system mode.
        peak_mb: resident memory of the largest one of its processes.
    """

    code: int | None
    seconds: float
    cpu: float
    peak_mb: float


class Workshop:
    """A folder with all that the benchmarks need. What is there from an earlier run is used again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def environment(self) -> dict[str, str]:
        """The environment of every measured run: caches and journals stay inside the folder."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        own = {f"XDG_{kind}_HOME": str(self.folder / kind.lower()) for kind in ("CACHE", "CONFIG", "STATE")}
        return kept | own | {"NO_COLOR": "1"}

    def tree(self) -> Path:
        """The unpacked Python files of the pinned libraries."""
        pins = HERE / "requirements-tree.txt"
        tree, wheels = self.folder / "tree", self.folder / "wheels"
        if not _is_current(tree.with_suffix(".txt"), pins.read_text()):
            shutil.rmtree(tree, ignore_errors=True)
            shutil.rmtree(wheels, ignore_errors=True)
            _pip(sys.executable, "download", "--no-deps", "--only-binary", ":all:", "-d", str(wheels), "-r", str(pins))
            _unpack(wheels.glob("*.whl"), tree)
            tree.with_suffix(".txt").write_text(pins.read_text())
        return tree

    def tool(self, name: str) -> Path:
        """The virtual environment with what `requirements-<name>.txt` pins."""
        pins = HERE / f"requirements-{name}.txt"
        place = self.folder / f"venv-{name}"
        if not _is_current(place / _DONE, pins.read_text()):
            python = _new_environment(place)
            _pip(python, "install", "-r", str(pins))
            (place / _DONE).write_text(pins.read_text())
        return place

    def devfix(self) -> Path:
        """A virtual environment with this checkout as it stands now: nobody's edits change it during the run."""
        place, constraints = self.folder / "venv-devfix", REPOSITORY / "constraints.txt"
        wanted = constraints.read_text() + (REPOSITORY / "pyproject.toml").read_text()
        stage = self.folder / "devfix-source"
        _stage(stage)
        python = str(_programs(place) / "python")
        if not _is_current(place / _DONE, wanted):
            python = _new_environment(place)
            _pip(python, "install", "-c", str(constraints), str(stage))
            (place / _DONE).write_text(wanted)
        else:
            _pip(python, "install", "--force-reinstall", "--no-deps", str(stage))
        return place


def program(place: Path, name: str) -> str:
    """The path of a program of a virtual environment."""
    return str(_programs(place) / name)


def measured(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], limit: float | None = None
) -> tuple[Run, bytes]:
    """Run a command to its end, or to `limit` seconds, and answer what it cost and what it said on standard error."""
    said = folder.parent / "stderr.txt"
    with said.open("wb") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        ended = threading.Event()
        timer = threading.Timer(limit or threading.TIMEOUT_MAX, _end, (process.pid, ended))
        if limit:
            timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            _end(process.pid, ended)
            raise
        finally:
            timer.cancel()
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    kilobytes = usage.ru_maxrss / 1024 if sys.platform == "darwin" else usage.ru_maxrss
    code = None if ended.is_set() else process.returncode
    return Run(code, seconds, usage.ru_utime + usage.ru_stime, kilobytes / 1024), said.read_bytes()


def python_files(tree: Path) -> list[Path]:
    """All Python files below `tree`, in the order of their paths."""
    return sorted(path for path in tree.rglob("*.py") if path.is_file())


def default_folder() -> Path:
    """Where the benchmarks work if nobody says otherwise."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "devfix-bench"


def conditions(*tools: str) -> str:
    """When, what and on what: the date, the versions of devfix, of `tools` and of the tree, the processors."""
    pins = {kind: _pins(kind) for kind in ("torchfix", "ruff", "tree")}
    known = pins["torchfix"] | pins["ruff"]
    parts = [
        time.strftime("%Y-%m-%d"),
        f"devfix at {_commit()}",
        *(f"{name} {known[name]}" for name in tools),
        f"Python {platform.python_version()}",
        f"{_processors()} cores",
        ", ".join(f"{name} {version}" for name, version in pins["tree"].items()),
    ]
    return " · ".join(parts)


def replace_between(page: Path, name: str, text: str) -> None:
    """Put `text` between the markers `<!-- name -->` and `<!-- /name -->` of a page."""
    before, opening, rest = page.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
    _, closing, after = rest.partition(f"<!-- /{name} -->")
    if not opening or not closing:
        raise BenchError(f"{page.name} has no place marked {name}")
    page.write_text(f"{before}{opening}\n{text.strip()}\n\n{closing}{after}", encoding="utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table in Markdown whose first `left` columns are text and the others numbers."""
    lines = [heads, ["---" if number < left else "---:" for number in range(len(heads))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _pins(kind: str) -> dict[str, str]:
    text = (HERE / f"requirements-{kind}.txt").read_text()
    return dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))


def _commit() -> str:
    git = ["git", "-C", str(REPOSITORY), "describe", "--always", "--dirty= with changes", "--abbrev=8"]
    done = subprocess.run(git, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "a copy without history"


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _end(group: int, ended: threading.Event) -> None:
    ended.set()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _is_current(note: Path, wanted: str) -> bool:
    return note.is_file() and note.read_text() == wanted


def _new_environment(place: Path) -> str:
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    return str(_programs(place) / "python")


def _programs(place: Path) -> Path:
    return place / "bin"


def _pip(python: str, command: str, *arguments: str) -> None:
    options = ["--quiet", "--disable-pip-version-check"]
    done = subprocess.run([python, "-m", "pip", command, *options, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise BenchError(f"pip {command} {' '.join(arguments)} failed:\n{done.stderr.strip()[-2000:]}")


def _unpack(wheels: Iterable[Path], tree: Path) -> None:
    for wheel in sorted(wheels):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tree, [name for name in archive.namelist() if name.endswith(".py")])


def _stage(stage: Path) -> None:
    """A copy to build from: a build leaves its own files beside the source."""
    shutil.rmtree(stage, ignore_errors=True)
    stage.mkdir()
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(REPOSITORY / name, stage / name)
    for name in ("codemods", "cli"):
        shutil.copytree(REPOSITORY / name, stage / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
