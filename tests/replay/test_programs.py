"""What a command line runs, and what is refused with a reason."""

from pathlib import Path

import pytest
from devfix.replay.programs import Program, ProgramError, parse_command


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pack").mkdir()
    (tmp_path / "src" / "deep").mkdir(parents=True)
    for name in (
        "train.py",
        "notes.ipynb",
        "my script.py",
        "pack/__init__.py",
        "pack/__main__.py",
        "pack/run.py",
        "src/deep/go.py",
    ):
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("command", "script", "arguments", "module"),
    [
        ("python train.py --epochs 1", "train.py", ("--epochs", "1"), None),
        ("python3.12 -u 'my script.py' 'a b'", "my script.py", ("a b",), None),
        ("/usr/bin/python3 train.py -m x", "train.py", ("-m", "x"), None),
        ("train.py", "train.py", (), None),
        ("notes.ipynb", "notes.ipynb", (), None),
        ("jupyter execute notes.ipynb", "notes.ipynb", (), None),
        ("python pack", "pack/__main__.py", (), None),
        ("python -m pack -v", "pack/__main__.py", ("-v",), "pack.__main__"),
        ("python -m pack.run", "pack/run.py", (), "pack.run"),
        ("python -B -m deep.go", "src/deep/go.py", (), "deep.go"),
    ],
)
def test_commands_that_run(
    folder: Path, command: str, script: str, arguments: tuple[str, ...], module: str | None
) -> None:
    assert parse_command(command, folder) == Program(folder / script, arguments, module)


def test_modules_are_found_on_the_given_path(folder: Path) -> None:
    (folder / "lib").mkdir()
    (folder / "lib" / "there.py").touch()
    assert parse_command("python -m there", folder, "lib").script == folder / "lib" / "there.py"


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "the command is empty"),
        ("python 'train.py", "cannot be read: No closing quotation"),
        ("python", "the command names no script"),
        ("python -c 'print(1)'", "the interpreter's option -c is not replayed"),
        ("python -m", "the interpreter's option -m is not replayed"),
        ("python nothing.py", "nothing.py: no such file"),
        ("python src", "src: a folder"),
        ("python -m nothing.here", "no module nothing.here in "),
        ("torchrun --nproc-per-node 2 train.py", "torchrun starts a program on several processes"),
        ("accelerate launch train.py", "accelerate starts a program on several processes"),
        ("python -m torch.distributed.run train.py", "torch.distributed.run starts a program on several processes"),
        ("OMP_NUM_THREADS=1 python train.py", "set variables with --env OMP_NUM_THREADS=1"),
        ("yolo train", "'yolo' cannot be replayed; write python SCRIPT"),
    ],
)
def test_commands_that_cannot_be_replayed_say_why(folder: Path, command: str, reason: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_command(command, folder)
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)
