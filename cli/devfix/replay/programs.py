"""What a replay runs, and how a user says so: `python train.py --epochs 1`, `python -m pack.train`."""

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_HARMLESS_OPTIONS = ("-u", "-B")
"""Options of the interpreter that a replay sets anyway."""
_LAUNCHERS = frozenset(("torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "srun", "horovodrun", "colossalai"))
_LAUNCHING_MODULES = frozenset(("torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"))


class ProgramError(Exception):
    """A command that cannot be replayed; the message says why."""


@dataclass(frozen=True, slots=True)
class Program:
    """A script and what follows it. `module` is its dotted name where it runs by that.

    With `is_suite` it is pytest with these arguments, and `script` is the folder of the project. `text` is what the
    script holds where devfix wrote it, so that the tree does not have it. With a `search` a driver is searched for in
    the place of the script: it is the JSON text of what is asked for.
    """

    script: Path
    arguments: tuple[str, ...] = ()
    module: str | None = None
    is_suite: bool = False
    text: str | None = None
    search: str | None = None


def suite_of(folder: Path, arguments: Sequence[str]) -> Program:
    """Pytest with these arguments, on the project in a folder."""
    return Program(folder.resolve(), tuple(arguments), is_suite=True)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line as it is written: `target` is the name of a script, or the dotted one of a module."""

    target: str
    arguments: tuple[str, ...]
    is_module: bool = False


def parse_command(command: str, folder: Path, python_path: str | None = None) -> Program:
    """What the command line `command`, typed in `folder`, runs.

    Raises:
        ProgramError: it is no `python SCRIPT …` or `python -m MODULE …`, or the script is not there.
    """
    read = read_command(command)
    if read.is_module:
        return _of_module(read, folder, python_path)
    return Program(_script(read.target, folder), read.arguments)


def read_command(command: str) -> Command:
    """What `command` names, wherever it may be typed.

    Raises:
        ProgramError: it is no `python SCRIPT …` or `python -m MODULE …`.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ProgramError(f"the command {command!r} cannot be read: {error}") from error
    if not words:
        raise ProgramError("the command is empty")
    name = Path(words[0]).name
    if _ASSIGNMENT.match(words[0]):
        raise ProgramError(f"{words[0]!r} is no program; set variables with --env {words[0]}")
    if name in _LAUNCHERS:
        raise ProgramError(_starts_several(name))
    if _PYTHON.fullmatch(name):
        return _of_python(words[1:])
    if name.endswith((".py", ".ipynb")):
        return Command(words[0], tuple(words[1:]))
    if name in ("jupyter", "jupyter-execute") and words[-1].endswith(".ipynb"):
        return Command(words[-1], ())
    raise ProgramError(f"{words[0]!r} cannot be replayed; write python SCRIPT … or python -m MODULE …")


def _of_python(words: Sequence[str]) -> Command:
    words = list(words)
    while words and words[0] in _HARMLESS_OPTIONS:
        words.pop(0)
    if not words:
        raise ProgramError("the command names no script: python SCRIPT … or python -m MODULE …")
    if words[0] == "-m" and len(words) > 1:
        if words[1] in _LAUNCHING_MODULES:
            raise ProgramError(_starts_several(words[1]))
        return Command(words[1], tuple(words[2:]), is_module=True)
    if words[0].startswith("-"):
        raise ProgramError(f"the interpreter's option {words[0]} is not replayed; write python SCRIPT …")
    return Command(words[0], tuple(words[1:]))


def _starts_several(launcher: str) -> str:
    return f"{launcher} starts a program on several processes; name the program: python SCRIPT …"


def _script(name: str, folder: Path) -> Path:
    path = (folder / name).resolve()
    if (path / "__main__.py").is_file():
        return path / "__main__.py"
    if not path.is_file():
        raise ProgramError(f"{name}: {'a folder' if path.is_dir() else 'no such file'}")
    return path


def _of_module(read: Command, folder: Path, python_path: str | None) -> Program:
    name = read.target
    parts = name.split(".")
    for base in _bases(folder, python_path):
        if (base.joinpath(*parts) / "__main__.py").is_file():
            script = base.joinpath(*parts) / "__main__.py"
            return Program(script.resolve(), read.arguments, f"{name}.__main__")
        if base.joinpath(*parts).with_suffix(".py").is_file():
            script = base.joinpath(*parts).with_suffix(".py")
            return Program(script.resolve(), read.arguments, name)
    raise ProgramError(f"no module {name} in {folder} or on PYTHONPATH; only code of the project is replayed")


def _bases(folder: Path, python_path: str | None) -> Iterable[Path]:
    """Where `python -m` looks in a project: here, on the module path, and in `src`, which an editable install adds."""
    found = [entry for entry in (python_path or "").split(os.pathsep) if entry]
    return (folder, *(folder / entry for entry in found), folder / "src")
