"""Limits of a run, and what a script may not do: each gives its outcome, and the original tree stays."""

from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.replay.backends import PlainCpu, Simulated
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.programs import Program
from devfix.replay.replaying import run_alone

Run = Callable[..., Outcome]


@pytest.fixture
def run(tree: Path) -> Run:
    """Run a script once on the plain CPU; extra arguments are `ReplayOptions`."""

    def run(script: str, **options: object) -> Outcome:
        path = tree / "train.py"
        path.write_text(script)
        return run_alone(Program(path), PlainCpu(), ReplayOptions(**{"timeout": 60, **options})).outcome  # type: ignore[arg-type]

    return run


def contents(tree: Path) -> dict[str, bytes | None]:
    return {str(path): path.read_bytes() if path.is_file() else None for path in tree.rglob("*")}


def test_a_script_that_prints_without_end_is_ended(run: Run) -> None:
    outcome = run("while True: print('x' * 1000)\n", output_limit=4 << 20)
    assert outcome.ending is Ending.OVERRAN
    assert outcome.reason == "printed more than 4.0 MiB"
    assert outcome.seconds < 60


def test_a_file_over_the_limit_is_an_error_of_the_script(run: Run) -> None:
    outcome = run("open('large', 'wb').write(bytes(3 << 20))\n", file_limit=1 << 20)
    assert outcome.error is not None
    assert outcome.error.message == "[Errno 27] File too large"


WRITES = (
    "open(TREE + '/data.txt', 'w')",
    "open(TREE + '/data.txt', 'ab')",
    "os.open(TREE + '/new.txt', os.O_CREAT | os.O_WRONLY)",
    "pathlib.Path(TREE, 'data.txt').unlink()",
    "os.mkdir(TREE + '/runs')",
    "shutil.rmtree(TREE)",
    "os.rename(TREE + '/data.txt', '/tmp/elsewhere')",
    "os.rename('train.py', TREE + '/data.txt')",
    "os.symlink('/tmp', TREE + '/link')",
    "os.truncate(TREE + '/data.txt', 0)",
    "os.chdir(TREE); open('data.txt', 'w')",
    "os.symlink(TREE, 'link'); open('link/data.txt', 'w')",
    "os.symlink(TREE + '/data.txt', 'link'); open('link', 'w')",
    "os.symlink(TREE + '/new.txt', 'link'); open('link', 'w')",
    "os.symlink(TREE + '/data.txt', 'link'); os.truncate('link', 0)",
)


@pytest.mark.parametrize("write", WRITES)
def test_the_original_tree_cannot_be_written_to(run: Run, tree: Path, write: str) -> None:
    (tree / "data.txt").write_text("original")
    script = f"import os, pathlib, shutil\nTREE = {str(tree)!r}\n{write}\n"
    (tree / "train.py").write_text(script)
    before = contents(tree)
    outcome = run(script)
    assert contents(tree) == before
    assert outcome.error is not None
    assert outcome.error.type == "PermissionError"
    assert outcome.error.line == 3
    assert "a replay may not write to the original tree" in outcome.error.message


def test_the_original_tree_can_be_read_and_the_rest_written(run: Run, tree: Path, tmp_path: Path) -> None:
    (tree / "data.txt").write_text("original")
    outcome = run(
        f"import os, tempfile\nprint(open({str(tree / 'data.txt')!r}).read())\nopen('data.txt', 'w').write('x')\n"
        f"open({str(tmp_path / 'beside')!r}, 'w')\ntempfile.mkstemp()\nos.mkdir('runs')\n"
        f"os.symlink({str(tree / 'data.txt')!r}, 'link')\nopen('link').read()\nos.remove('link')\n"
    )
    assert outcome.passed, outcome.stderr.tail
    assert outcome.stdout.head == "original\n"
    assert (tree / "data.txt").read_text() == "original"


def test_torch_save_cannot_write_to_the_original_tree(run: Run, tree: Path) -> None:
    outcome = run(f"import torch\ntorch.save({{}}, {str(tree / 'model.pt')!r})\n")
    assert outcome.error is not None
    assert outcome.error.type == "PermissionError"
    assert not (tree / "model.pt").exists()


def test_variables_reach_the_script(run: Run) -> None:
    script = "import os\nprint(os.environ['MINE'], os.environ['PYTHONHASHSEED'])\n"
    assert run(script, env=(("MINE", "a=b"), ("PYTHONHASHSEED", "7"))).stdout.head == "a=b 7\n"


def test_simulated_devices_are_not_hidden_by_the_variables_of_the_machine(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    script, backend = tree / "train.py", Simulated(tree / "unused.json")
    script.write_text("import os\nprint(os.environ.get('CUDA_VISIBLE_DEVICES'))\n")
    chosen = ReplayOptions(timeout=60, env=(("CUDA_VISIBLE_DEVICES", "1"),))
    assert run_alone(Program(script), backend, ReplayOptions(timeout=60)).outcome.stdout.head == "None\n"
    assert run_alone(Program(script), backend, chosen).outcome.stdout.head == "1\n"


def test_the_folder_can_be_chosen(run: Run, tree: Path) -> None:
    (tree / "configs").mkdir()
    (tree / "configs" / "here").touch()
    assert run("import os\nprint(os.listdir())\n", cwd=tree / "configs").stdout.head == "['here']\n"


TRAINING = """
import sys, torch
model = torch.nn.Linear(3, 1)
first, second = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
try:
    for step in range(10):
        loss = model(torch.ones(4, 3)).pow(2).mean()
        loss.backward()
        first.step()
        second.step()
        print("turn", step)
        HERE
finally:
    print("finally")
"""


@pytest.mark.slow
def test_training_ends_after_so_many_steps_of_each_optimizer(run: Run) -> None:
    outcome = run(TRAINING.replace("HERE", "pass"), steps=2)
    assert outcome.passed
    assert outcome.stopped_after == 2
    assert outcome.stdout.head == "turn 0\nturn 1\nfinally\n"
    assert outcome.error is None


@pytest.mark.slow
def test_training_that_makes_fewer_steps_ends_by_itself(run: Run) -> None:
    outcome = run(TRAINING.replace("HERE", "if step == 2: sys.exit(3)"), steps=5)
    assert outcome.stopped_after is None
    assert outcome.status == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    "handler",
    [
        "except Exception: print('caught')",
        "except BaseException: sys.exit(1)",
        "except BaseException: raise ValueError",
    ],
)
def test_handlers_do_not_turn_the_end_into_a_failure(run: Run, handler: str) -> None:
    script = TRAINING.replace("HERE", "pass").replace("finally:", handler + "\nfinally:")
    outcome = run(script, steps=1)
    assert outcome.passed
    assert outcome.stopped_after == 1
    assert "caught" not in outcome.stdout.head


@pytest.mark.slow
def test_a_script_that_catches_everything_and_goes_on_is_ended_all_the_same(run: Run) -> None:
    script = """
import torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    try:
        optimizer.step()
        print("step")
    except:
        print("caught")
"""
    outcome = run(script, steps=3)
    assert outcome.stdout.head == "step\nstep\nstep\ncaught\n"
    assert outcome.passed
    assert outcome.stopped_after == 3


def test_deprecations_are_seen_whatever_the_filters_say(run: Run, tree: Path) -> None:
    (tree / "lib.py").write_text(
        "import warnings\ndef old():\n    warnings.warn('use new()\\nplease', FutureWarning, stacklevel=2)\n"
    )
    outcome = run(
        "import lib, warnings\nwarnings.simplefilter('ignore')\nfor _ in range(3):\n    lib.old()\n"
        "warnings.warn('odd')\nwarnings.warn(DeprecationWarning('gone soon'))\n"
        "warnings.warn('\\n\\n  in a frame\\n', FutureWarning)\nwarnings.warn('', FutureWarning)\n"
    )
    told = [(one.category, one.message, one.where) for one in outcome.warnings]
    assert told == [
        ("FutureWarning", "use new()", "lib.py:3"),
        ("DeprecationWarning", "gone soon", "train.py:6"),
        ("FutureWarning", "in a frame", "train.py:7"),
        ("FutureWarning", "", "train.py:8"),
    ]
    assert outcome.stderr.size == 0


def test_warnings_are_shown_at_the_lines_that_python_says(run: Run, tree: Path) -> None:
    (tree / "lib.py").write_text(
        "import warnings\ndef old():\n    warnings.warn('one', FutureWarning)\n"
        "    warnings.warn('two', FutureWarning, stacklevel=2)\n"
    )
    shown = run("import lib\nlib.old()\n").stderr.head
    assert "lib.py:3: FutureWarning: one" in shown
    assert "train.py:2: FutureWarning: two" in shown
