"""A stand-in for the library, so that the application is tested for what it does itself.

The stand-in knows one bug: every `wrong(…)` in a file that says `torch` is to become `right(…)`. A line with `# unsafe`
gives it an unsafe fix, one with `# manual` only advice.
"""

import ast
import contextlib
import faulthandler
import importlib
import io
import json
import os
import pkgutil
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from devfix.__main__ import main
from devfix.formats import Colour
from devfix.operations import rules as rules_command
from devfix.reporting.terminal import choose_colour
from devfix.rules import pages, plugins, selection
from devfix_codemods import engine, suppressions
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.outcomes import Changed, Checked, CheckOutcome, Clean, Failed, Options, RewriteOutcome, Skipped
from devfix_codemods.project.files import Project
from devfix_codemods.rules import Rule
from devfix_codemods.source import Source, SourceError, Span

BUGGY = "import torch\nloader = 1\nx = wrong(loader)\n"
FIXED = BUGGY.replace("wrong", "right")
WORD = re.compile(r"\bwrong\b")
TIERED = """
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.rules import Rule


def check(program):
    for call in program.names.calls:
        span = program.source.span(call.func)
        if program.source.segment(span) == "wrong":
            safety, confidence = program.source.lines[span.line - 1].partition("# ")[2].split()[:2]
            fix = Fix(Safety(safety), "Say `right`", (ReplaceExpression(span, "right"),), since=SINCE)
            whole = program.source.span(call)
            yield Finding(RULE.code, RULE.name, "this is wrong", whole, fix=fix, confidence=float(confidence))


SINCE = None
RULE = Rule("TIER101", "wrong-word", ((b"wrong",),), check)
"""
"""A plug-in that finds every `wrong(…)`, with the safety and the confidence that a comment says: `# safe 0.9`."""


def fake_check(source: Source, options: Options, project: Project | None = None) -> CheckOutcome:
    """The stand-in for `engine.check`. Some words in the file make it crash, hang or fail."""
    _misbehave(source.data)
    try:
        tree = source.tree
    except SourceError as error:
        return Failed(str(error))
    if "devfix: skip-file" in source.text:
        return Skipped("# devfix: skip-file")
    if "DVF101" not in options.select:
        return Checked(())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _named(node, "wrong")]
    found = tuple(_finding(source, call) for call in calls)
    silenced = suppressions.silence(found, suppressions.read(source), options.select, frozenset({"DVF101"}))
    return Checked(silenced.findings, silenced.ignored)


def fake_rewrite(
    source: Source,
    options: Options,
    accept: Callable[[Finding], bool] | None = None,
    project: Project | None = None,
) -> RewriteOutcome:
    """The stand-in for `engine.rewrite`."""
    outcome = fake_check(source, options)
    if not isinstance(outcome, Checked):
        return outcome
    wanted = {Safety.SAFE, Safety.UNSAFE} if options.unsafe else {Safety.SAFE}
    fixed = tuple(
        found
        for found in outcome.findings
        if found.fix is not None and (accept(found) if accept is not None else found.fix.safety in wanted)
    )
    if not fixed:
        return Clean(outcome.findings)
    lines = re.split(r"(?<=\n)", source.text)
    for finding in fixed:
        lines[finding.span.line - 1] = WORD.sub("right", lines[finding.span.line - 1])
    data = source.data[: len(source.data) - len(source.text.encode(source.encoding))]
    data += "".join(lines).encode(source.encoding)
    return Changed(data, fixed, tuple(found for found in outcome.findings if found not in fixed))


def _misbehave(data: bytes) -> None:
    if b"please segfault" in data:
        faulthandler.disable()  # no trace in the output of the tests
        os.kill(os.getpid(), signal.SIGSEGV)
    if b"please hang" in data:
        while time.process_time() < 600:
            pass
    if b"please raise" in data:
        raise RuntimeError("two\nlines")


def _named(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name


def _finding(source: Source, call: ast.Call) -> Finding:
    span, line = source.span(call), source.lines[call.lineno - 1]
    safety = next((kind for kind in (Safety.UNSAFE, Safety.MANUAL) if f"# {kind}" in line), Safety.SAFE)
    name = Span(span.line, span.column, span.line, span.column + len("wrong"))
    trail = (Step(Span(1, 0, 1, 6), "comes from here"), Step(span, "meets `model` here"))
    fix = Fix(safety, "Say `right`", () if safety is Safety.MANUAL else (ReplaceExpression(name, "right"),))
    advice = "Think about it" if safety is Safety.MANUAL else None
    return Finding("DVF101", "batch-not-moved", "`loader` is on the host", span, trail[0].span, trail, fix, advice)


RULES = (
    Rule("DVF101", "batch-not-moved", ((b"wrong",),), lambda program: (), "Batches that stay behind.\n\nWhy: torch."),
    Rule("DVF102", "encoding-not-moved", ((b"encoding",),), lambda program: (), "Encodings that stay behind."),
    Rule("DVF201", "submodule-after-move", ((b"Linear",),), lambda program: (), "A head put in too late."),
)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in in the place of the library."""
    monkeypatch.setattr(engine, "check", fake_check)
    monkeypatch.setattr(engine, "rewrite", fake_rewrite)
    monkeypatch.setattr(selection, "all_rules", lambda: RULES)
    monkeypatch.setattr(rules_command, "all_rules", lambda: RULES)
    monkeypatch.setattr(pages, "all_rules", lambda: RULES)


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of its own for each test: caches, journals and git's settings are not the developer's."""
    folder = tmp_path_factory.mktemp("home")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
        monkeypatch.setenv(name, str(folder / name.lower()))
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    choose_colour(Colour.AUTO)
    _forget_choices()
    yield folder
    _forget_choices()


def _forget_choices() -> None:
    selection.options_of.cache_clear()
    selection.rules_of.cache_clear()


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the working directory."""
    folder = tmp_path / "tree"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@dataclass(frozen=True)
class Ran:
    """What a command line gave."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Devfix:
    """Runs command lines in this process."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capture = capture
        self._monkeypatch = monkeypatch

    def __call__(self, *arguments: str, stdin: bytes | None = None) -> Ran:
        self._capture.readouterr()
        if stdin is not None:
            self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(arguments)
        out, err = self._capture.readouterr()
        return Ran(code, os.fsdecode(out), os.fsdecode(err))


@pytest.fixture
def devfix(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Devfix:
    return Devfix(capfdbinary, monkeypatch)


def git(folder: Path, *arguments: str) -> str:
    """Run git in `folder`, untouched by the settings of whoever runs the tests."""
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture
def repository(tree: Path) -> Path:
    """The working directory as a git repository without commits."""
    git(tree, "init", "-q")
    return tree


def commit(folder: Path) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "as it was")


def _import_everything() -> None:
    """What is imported late may lie in a folder that only root can read."""
    for name in ("libcst.metadata", "libcst.native", "multiprocessing.popen_fork"):
        importlib.import_module(name)
    for name in ("devfix", "devfix_codemods"):
        _import_all_of(importlib.import_module(name))


def _import_all_of(package: ModuleType) -> None:
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if not found.name.startswith(("devfix.replay.probe", "devfix.__main__")):
            module = importlib.import_module(found.name)
            if found.ispkg:
                _import_all_of(module)


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, which permissions do not hold back. Someone else has no such rights anyway."""
    if os.geteuid() != 0:
        yield
        return
    _import_everything()
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_tree(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory and a home that belong to nobody."""
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        top.chmod(0o755)
        for part in ("tree", "home"):
            (top / part).mkdir()
            (top / part).chmod(0o777)
        for variable in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"):
            monkeypatch.setenv(variable, str(top / "home"))
        monkeypatch.chdir(top / "tree")
        yield top / "tree"
        monkeypatch.undo()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path for plug-ins; what was imported from it is forgotten afterwards."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")])))
    before = set(sys.modules)
    plugins._installed.cache_clear()
    _forget_choices()
    yield folder
    plugins.load(isolated=True)
    plugins._installed.cache_clear()
    _forget_choices()
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def announce(site: Path, distribution: str, module: str, version: str = "1.0") -> None:
    folder = site / f"{distribution}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
    (folder / "entry_points.txt").write_text(f"[devfix.rules]\n{distribution} = {module}\n")


def install(site: Path, text: str, distribution: str = "other") -> None:
    announce(site, distribution, f"plug_{distribution}")
    (site / f"plug_{distribution}.py").write_text(text)
