"""Notebooks run: their cells as one program, with IPython's magics where it is installed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from devfix.replay.backends import PlainCpu, Simulated
from devfix.replay.changes import Change
from devfix.replay.confinement import find_confinement
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.probe.commands import is_refused
from devfix.replay.programs import Program
from devfix.replay.replaying import replay_on, run_alone
from devfix.replay.report import as_json, render
from devfix.replay.results import ReplayResult
from devfix.replay.verdicts import Kind, obstacle

needs_ipython = pytest.mark.skipif(
    find_spec("IPython") is None, reason="IPython is not installed: pip install 'devfix[notebooks]'"
)

Run = Callable[..., Outcome]


def notebook(*cells: str | tuple[str, str]) -> bytes:
    """A notebook with these code cells, some with a tag, and a text between the first two."""
    made = [cell if isinstance(cell, tuple) else (cell, "") for cell in cells]
    code: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {"tags": [tag]} if tag else {}, "source": source, "outputs": []}
        for source, tag in made
    ]
    text = {"cell_type": "markdown", "metadata": {}, "source": "import nothing"}
    document = {"cells": [*code[:1], text, *code[1:]], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document).encode()


@pytest.fixture
def run(tree: Path) -> Run:
    """Run a notebook in the folder `notes` of the tree, on the plain CPU; extra arguments are `ReplayOptions`."""

    def run(*cells: str | tuple[str, str], **options: Any) -> Outcome:
        path = tree / "notes" / "train.ipynb"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(notebook(*cells))
        return run_alone(Program(path), PlainCpu(), ReplayOptions(**{"timeout": 90, **options})).outcome

    return run


@pytest.fixture
def replay(tree: Path) -> Callable[..., ReplayResult]:
    def replay(before: bytes, after: bytes, on: Simulated | None = None, **options: Any) -> ReplayResult:
        path = tree / "train.ipynb"
        path.write_bytes(before)
        chosen = ReplayOptions(**{"timeout": 90, **options})
        return replay_on(on or PlainCpu(), [Change(path, before, after)], chosen)[0]

    return replay


# Without IPython


def test_cells_are_one_program_in_the_notebooks_folder(run: Run, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "notes").mkdir()
    (tree / "notes" / "neighbour.py").write_text("here = 'imported'\n")
    monkeypatch.chdir(tree)
    outcome = run(
        "from __future__ import annotations\nimport os, sys, neighbour\nx = 1",
        ("x = 2", "skip-execution"),
        "def f(a: nothing): return x\nprint(f(0), __name__, '__file__' in globals(), neighbour.here)",
        "print(os.path.basename(os.getcwd()), sys.path[0] == '', sys.argv)",
        "1 / 1\nprint('printed')",
        "1 / 2",
        "1 / 4;",
    )
    assert outcome.passed, outcome.stderr.tail
    assert outcome.stdout.head == "1 __main__ False imported\nnotes True ['train.ipynb']\nprinted\n"
    assert outcome.stderr.head == "0.5\n"


def test_cells_may_await_and_share_a_loop(run: Run) -> None:
    outcome = run(
        "import asyncio\nasync def f(x):\n    await asyncio.sleep(0)\n    return x",
        "task = asyncio.get_event_loop().create_task(f('of a task'))\nprint(await f('awaited'))\nawait f('shown')",
        "print(await task)",
    )
    assert outcome.passed, outcome.stderr.tail
    assert outcome.stdout.head == "awaited\nof a task\n"
    assert outcome.stderr.head == "'shown'\n"


def test_a_traceback_names_the_cell_and_the_line(run: Run) -> None:
    outcome = run(
        "import os", "def f():\n    return missing", "try:\n    f()\nexcept NameError as error:\n    raise OSError"
    )
    assert outcome.error is not None
    assert (outcome.error.told, outcome.error.cell) == ("OSError at notes/train.ipynb:cell 4:4", (4, 4))
    frames = [line.strip() for line in outcome.stderr.head.splitlines() if "File" in line or "missing" in line]
    assert [frame.rpartition(os.sep)[2] for frame in frames] == [
        'train.ipynb:cell 4", line 2, in <module>',
        'train.ipynb:cell 3", line 2, in f',
        "return missing",
        "NameError: name 'missing' is not defined",
        'train.ipynb:cell 4", line 4, in <module>',
    ]


def test_a_cell_that_may_raise_ends_nothing(run: Run) -> None:
    outcome = run("x = 1", ("x = 2\n1 / 0", "raises-exception"), "print(x)")
    assert (outcome.passed, outcome.stdout.head) == (True, "2\n")
    assert "ZeroDivisionError" in outcome.stderr.head


@pytest.mark.parametrize(
    ("cell", "ending", "told"),
    [
        ("input()", Ending.FAILED, "waits for input"),
        ("import sys\nsys.exit(3)", Ending.FAILED, None),
        ("import sys\nsys.exit()", Ending.PASSED, None),
        ("import nothing_of_that_name", Ending.FAILED, "needs the module nothing_of_that_name, which is not"),
    ],
)
def test_how_cells_end(run: Run, cell: str, ending: Ending, told: str | None) -> None:
    outcome = run("x = 1", cell, "print('never')" if ending is Ending.FAILED else "")
    assert outcome.ending is ending, outcome.stderr.tail
    assert "never" not in outcome.stdout.head
    assert (obstacle(outcome) or "").startswith(told or "")
    assert (obstacle(outcome) is None) == (told is None)


def test_what_is_no_notebook_cannot_be_run(tree: Path) -> None:
    path = tree / "train.ipynb"
    for data, reason in (
        (b"{}", "a notebook of format None; only format 4 is read"),
        (notebook("x = 1", "x = ("), "cell 3: syntax error: '(' was never closed (line 1)"),
    ):
        path.write_bytes(data)
        outcome = run_alone(Program(path), PlainCpu(), ReplayOptions()).outcome
        assert (outcome.ending, outcome.reason) == (Ending.NOT_STARTED, reason)


CRASH = "RuntimeError('Expected all tensors to be on the same device, but got cpu')"
BEFORE = notebook("x = 1", f"y = x\nif y == 1:\n    raise {CRASH}\nif not y:\n    print(0)")


def test_a_fix_in_a_cell_is_confirmed(replay: Callable[..., ReplayResult]) -> None:
    result = replay(BEFORE, BEFORE.replace(b"y = x", b"y = 2"))
    assert result.verdict.kind is Kind.CONFIRMED
    assert result.verdict.reason.startswith("RuntimeError at train.ipynb:cell 3:3 is gone: Expected all tensors")
    assert result.command == "jupyter execute train.ipynb"
    (told,) = as_json([result])["replays"]
    assert {key: told["before"]["error"][key] for key in ("path", "cell", "line")} == {
        "path": "train.ipynb",
        "cell": 3,
        "line": 3,
    }
    assert told["after"]["reached"] == [{"path": "train.ipynb", "cell": 3, "line": 1}]


def test_lines_that_never_ran_are_told_by_their_cell(replay: Callable[..., ReplayResult]) -> None:
    result = replay(BEFORE, BEFORE.replace(b"y = x", b"y = 2").replace(b"print(0)", b"print(1)"))
    assert result.verdict.reason.endswith("; cell 3, line 5 never ran")
    refuted = replay(BEFORE, BEFORE.replace(b"y = x", b"y = z"))
    assert refuted.verdict.kind is Kind.REFUTED
    assert "NameError at train.ipynb:cell 3:1: name 'z' is not defined" in refuted.verdict.reason


def test_a_warning_is_seen_in_its_cell(replay: Callable[..., ReplayResult]) -> None:
    old = notebook("import warnings", "x = 1\nwarnings.warn('old', FutureWarning)\nprint(x)")
    result = replay(old, old.replace(b"warnings.warn('old', FutureWarning)", b"x = 1"))
    assert result.verdict.reason == "FutureWarning at train.ipynb:cell 3:2 is gone: old"


@pytest.fixture
def without_ipython(tmp_path: Path) -> tuple[tuple[str, str], ...]:
    """Variables under which IPython is not installed."""
    (tmp_path / "none" / "IPython").mkdir(parents=True)
    (tmp_path / "none" / "IPython" / "__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'IPython'\", name='IPython')\n"
    )
    return (("PYTHONPATH", str(tmp_path / "none")),)


def test_where_ipython_is_missing_a_line_says_what_to_install(
    replay: Callable[..., ReplayResult], without_ipython: tuple[tuple[str, str], ...]
) -> None:
    before = notebook("print('begun')", "x = 1\n%matplotlib inline", f"raise {CRASH}")
    result = replay(before, before.replace(b"raise ", b""), env=without_ipython)
    assert result.verdict.kind is Kind.INCONCLUSIVE
    needs = "needs the module IPython, which is not installed in this interpreter; pip install 'devfix[notebooks]'"
    assert result.verdict.reason == f"the original {needs}"
    assert result.before is not None
    assert result.before.error is not None
    assert result.before.error.told == "ModuleNotFoundError at train.ipynb:cell 3:2"
    assert result.before.stdout.size == 0


def test_cells_that_need_no_ipython_run_without(run: Run, without_ipython: tuple[tuple[str, str], ...]) -> None:
    plain = run("def display(x): print(x)\ndisplay(1)", env=without_ipython)
    assert (plain.passed, plain.stdout.head) == (True, "1\n")
    for cell in ("display(1)", "x = get_ipython()", "x?", "!ls", "%%bash\nls", "    print(1)"):
        outcome = run("print('begun')", cell, env=without_ipython)
        assert outcome.error is not None, cell
        assert outcome.error.told == "ModuleNotFoundError at notes/train.ipynb:cell 3:1", cell


# With IPython


@needs_ipython
def test_magics_do_what_ipython_does(run: Run, tree: Path) -> None:
    outcome = run(
        "%matplotlib inline\n%config InlineBackend.figure_format = 'retina'\nx = 1",
        "!echo {x} of a shell\nfiles = !echo got $x\nprint(files, get_ipython().user_ns['x'])",
        "%env DEVFIX_X=bar\n%cd ..\n%cd notes\nimport os; print(os.environ['DEVFIX_X'], os.path.basename(os.getcwd()))",
        "%%writefile made.py\ny = 2",
        "import made\n%load_ext autoreload\n%autoreload 2\n!echo one \\\n    two\nprint(made.y)",
        "%%bash\necho in bash",
        "%%capture out\nprint('captured')\n%time x = 2",
        "display(out.stdout.splitlines()[0], x)\nmade?\nawait __import__('asyncio').sleep(0, 'slept')",
        "%%time\n\nx = 3\nprint(_)",
        "    print('indented', Out[12] if 12 in Out else len(Out))",
    )
    assert outcome.passed, outcome.stderr.tail
    lines = [line for line in outcome.stdout.head.splitlines() if not line.startswith(("CPU", "Wall", "/", "env"))]
    assert lines[:3] == ["1 of a shell", "['got 1'] 1", "bar notes"]
    assert lines[3:8] == ["Writing made.py", "one two", "2", "in bash", "'captured'"]
    assert lines[8] == "2"
    assert lines[-2:] == ["slept", "indented 1"]
    assert "'slept'" in outcome.stderr.head
    assert outcome.notes == ()


TELL = """def tell(inner):
    get_ipython().system('echo {inner} {{inner}}')
    return get_ipython().getoutput('echo $inner')
"""


@needs_ipython
def test_variables_of_a_command_are_replaced_once(run: Run) -> None:
    cells = ("x, inner = 'outer', 'wrong'", "!echo {{x}} $x\ny = !echo {{x}}\nprint(y)", TELL, "print(tell('own'))")
    outcome = run(*cells)
    assert outcome.passed, outcome.stderr.tail
    assert outcome.stdout.head.splitlines() == ["{x} outer", "['{x}']", "own {inner}", "['own']"]


@needs_ipython
def test_nothing_is_installed_or_downloaded_and_a_note_says_so(run: Run) -> None:
    outcome = run(
        "!pip install one\n%pip install two\nimport sys\n!{sys.executable} -m pip install three",
        "%conda install four\nx = !wget https://example.org\nprint(x, _exit_code)",
        "command = 'pip install five'\nx = !{command}\nprint(x)",
        "%%bash\nls\ncurl https://example.org | sh",
        "%%sh\necho stays",
    )
    assert outcome.passed, outcome.stderr.tail
    assert outcome.stdout.head == "[] 0\n[]\nstays\n"
    commands = ("!pip install one", "%pip install two", "!{sys.executable} -m pip install three")
    more = ("%conda install four", "!wget https://example.org", "!{command}", "%%bash")
    told = "`{}` was not run: a replay installs and downloads nothing"
    assert outcome.notes == tuple(told.format(command) for command in (*commands, *more))


BELOW_MAGICS = {
    "\n\nx = 1\nf()": 4,
    "%time f()": 1,
    "%%time\n\nx = 1\nf()": 4,
    "%%capture\n%%time\nx = 1\n\nf()\nx": 5,
    "%%capture\nx = 1\nf()": 3,
    "!true \\\n  x \\\n  y\nf()": 4,
    "for i in range(2):\n    %time f()": 2,
    "%%time\nx = 1\nif x:\n    %time f()": 4,
}
"""Cells that fail, and where. What `f` runs is in no file of the tree, so that the innermost line is the cell's."""


@needs_ipython
def test_an_error_below_a_magic_is_at_its_line(run: Run) -> None:
    outcome = run("%matplotlib inline\nf = [].pop", *((cell, "raises-exception") for cell in BELOW_MAGICS), "print(1)")
    assert (outcome.passed, outcome.stdout.head[-2:]) == (True, "1\n"), outcome.stderr.head
    tracebacks = outcome.stderr.head.split("IndexError: pop from empty list\n")
    assert len(tracebacks) == len(BELOW_MAGICS) + 1
    for number, ((cell, line), traceback) in enumerate(zip(BELOW_MAGICS.items(), tracebacks), 3):
        places = [text.partition("train.ipynb:cell ")[2] for text in traceback.splitlines() if "train.ipynb" in text]
        assert places[-1].startswith(f'{number}", line {line}, in <module>'), cell


@needs_ipython
def test_patched_lines_below_a_magic_are_seen_to_run(replay: Callable[..., ReplayResult]) -> None:
    before = notebook("x = 1", f"%%time\ny = x\nif y == 1:\n    raise {CRASH}")
    result = replay(before, before.replace(b"y = x", b"y = 2"))
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict
    assert result.after is not None
    assert as_json([result])["replays"][0]["after"]["reached"] == [{"path": "train.ipynb", "cell": 3, "line": 2}]


@needs_ipython
def test_the_home_is_left_alone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    outcome = run("%matplotlib inline\nprint(1)", env=(("HOME", str(tmp_path / "home")),))
    assert outcome.passed, outcome.stderr.tail
    assert list((tmp_path / "home").iterdir()) == []
    assert outcome.shared is None


TORCH = """%%time
import torch
model = torch.nn.Linear(2, 2)
model.to('cuda');
"""


@needs_ipython
def test_device_errors_are_told_by_cells(replay: Callable[..., ReplayResult], simulation: Simulated) -> None:
    before = notebook("x = 0", TORCH, "x = torch.ones(3, 2)\n2 * x", "%%time\ny = 1\n\nloss = model(x)", "print(y)")
    result = replay(before, before.replace(b"ones(3, 2)", b"ones(3, 2, device='cuda')"), simulation)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict
    assert result.verdict.reason.startswith("RuntimeError at train.ipynb:cell 5:4 is gone: Expected all tensors")
    story = render([result])[-1]
    assert "`x` (float32[3, 2]) is on the host: made by `torch.ones` at train.ipynb:cell 4:1 and never moved" in story
    assert "since `model.to('cuda');` at train.ipynb:cell 3:4; they meet in `model` at train.ipynb:cell 5:4" in story
    assert "`_" not in story


def test_a_notebook_runs_in_a_sandbox(run: Run) -> None:
    confinement = find_confinement(sys.executable)
    if isinstance(confinement, str):
        pytest.skip(confinement)
    magic = ["%time print('with IPython')"] if find_spec("IPython") else []
    outcome = run("print('in a cell')", *magic, confinement=confinement)
    assert outcome.passed, outcome.stderr.tail
    assert outcome.stdout.head.startswith("in a cell\n")


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ls -la",
            "mkdir -p data && cp a b",
            "nvidia-smi",
            "python train.py",
            "git log",
            "echo pip install",
            "cat x | wc -l",
        ),
        *("tar xf pip.tar", "unzip -q data.zip", "# pip install x", "python -m pack.run", "head -n 3 curl.txt"),
    ],
)
def test_other_commands_are_run(command: str) -> None:
    assert not is_refused(command)


@pytest.mark.parametrize(
    "command",
    [
        *(
            "pip install x",
            "pip3 -q install x",
            "/usr/bin/pip install x",
            "python -m pip install x",
            "sudo -H apt-get install x",
        ),
        *(
            "cd a && git clone b",
            "wget -q x",
            "X=1 curl x",
            "(cd a; pip install -e .)",
            "conda install -y x",
            "uv pip install x",
        ),
        *(
            "echo $(curl x)",
            "if true; then wget x; fi",
            "git -C a pull",
            "nohup kaggle datasets download x &",
            "pip install 'x",
        ),
    ],
)
def test_commands_that_install_or_download_are_not(command: str) -> None:
    assert is_refused(command)


def test_the_probe_needs_no_ipython_to_be_imported() -> None:
    """Scripts are run where it is not installed."""
    code = "import sys; sys.modules['IPython'] = None; import devfix.replay.probe.session"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
