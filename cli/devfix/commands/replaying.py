"""The options of all commands that run scripts, and what they come to."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from devfix.errors import UsageError
from devfix.project.bounds import LEAST_MEMORY, LEAST_TIMEOUT, MOST_DEVICES, MOST_SEED

if TYPE_CHECKING:
    from devfix.project.settings import Overrides, ReplaySettings
    from devfix.replay import Program, ReplayOptions
    from devfix.replay.confinement import Confinement

T = TypeVar("T")
Given = TypeVar("Given", bound="RunOptions")


class On(StrEnum):
    """Where a replay runs."""

    AUTO = "auto"
    CUDA = "cuda"
    XPU = "xpu"
    MPS = "mps"
    NPU = "npu"
    SIMULATED = "simulated"
    CPU = "cpu"


Where = Annotated[
    On | None, typer.Option("--on", help="Where to run; auto is an accelerator, or else a simulated one.")
]
Devices = Annotated[
    int | None, typer.Option("--devices", metavar="N", min=1, max=MOST_DEVICES, help="How many devices are simulated.")
]
Steps = Annotated[
    int | None, typer.Option("--steps", metavar="N", min=1, help="End training after N steps of an optimizer.")
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", min=0, max=MOST_SEED, help="Where random numbers start.")
]
Python = Annotated[
    str | None,
    typer.Option("--python", metavar="PATH", help="The project's interpreter; by default that of the active venv."),
]
Env = Annotated[list[str] | None, typer.Option("--env", metavar="KEY=VALUE", help="Set a variable for the script.")]
Cwd = Annotated[str | None, typer.Option("--cwd", metavar="FOLDER", help="The folder of the project to run in.")]
Timeout = Annotated[
    float | None, typer.Option("--timeout", metavar="SECONDS", min=LEAST_TIMEOUT, help="The limit for each run (300).")
]
Memory = Annotated[
    str | None, typer.Option("--memory", metavar="SIZE", help="The limit for each process, such as 8GiB.")
]
OutputLimit = Annotated[
    str | None, typer.Option("--output-limit", metavar="SIZE", help="How much a run may print (64MiB).")
]
CopyLimit = Annotated[
    str | None, typer.Option("--copy-limit", metavar="SIZE", help="How large a tree is copied (2GiB).")
]
Keep = Annotated[bool, typer.Option("--keep", help="Keep the copies with what the runs wrote, and say where.")]

Sandbox = Annotated[
    bool, typer.Option("--sandbox", help="Run without network and with nothing but the copy to write to.")
]


@dataclass(frozen=True)
class RunOptions:
    """How to run scripts, as it was given: None where an option was not."""

    on: Where = None
    devices: Devices = None
    steps: Steps = None
    seed: Seed = None
    python: Python = None
    env: Env = None
    cwd: Cwd = None
    timeout: Timeout = None
    memory: Memory = None
    output_limit: OutputLimit = None
    copy_limit: CopyLimit = None
    keep: Keep = False
    sandbox: Sandbox = False


NoHarness = Annotated[bool, typer.Option("--no-harness", help="Drive no functions that neither scripts nor tests run.")]


@dataclass(frozen=True)
class JudgingOptions(RunOptions):
    """The same where patches are judged."""

    no_harness: NoHarness = False


def options_for(given: RunOptions, script: str, arguments: Sequence[str]) -> "ReplayOptions":
    """How to run a script: what was given, else what the settings of its folder say.

    Raises:
        UsageError: an option or a setting makes no sense.
    """
    from devfix.project.settings import Overrides

    chosen = replay_options(given, Overrides(), Path(script).resolve().parent, None)
    return dataclasses.replace(chosen, args=tuple(arguments))


def replay_options(
    given: RunOptions, overrides: "Overrides", folder: Path, program: "Program | None"
) -> "ReplayOptions":
    """How to replay: what was given, else what the settings of `folder` say.

    Raises:
        UsageError: an option or a setting makes no sense.
    """
    from devfix.project.settings import SettingsTree
    from devfix.replay import Limits, ReplayOptions
    from devfix.replay.options import from_any_folder

    settings = SettingsTree(overrides).of(str(folder)).replay
    usual = ReplayOptions()
    python = from_any_folder(given.python) if given.python else usual.python
    return ReplayOptions(
        on=_on(given, settings),
        timeout=_first(given.timeout, settings.timeout, usual.timeout),
        python=python,
        memory=_memory(given.memory) or settings.memory,
        seed=_first(given.seed, settings.seed, usual.seed),
        keep=given.keep,
        limits=Limits(total=_first(_size("--copy-limit", given.copy_limit), settings.copy_limit, Limits().total)),
        devices=_first(given.devices, settings.devices, usual.devices),
        steps=given.steps or settings.steps,
        program=program,
        env=tuple(_variable(text) for text in given.env or ()),
        cwd=_folder(given.cwd),
        output_limit=_first(_size("--output-limit", given.output_limit), settings.output_limit, usual.output_limit),
        confinement=_confinement(python) if given.sandbox else None,
        harness=isinstance(given, JudgingOptions) and not given.no_harness,
    )


def chosen(given: RunOptions, overrides: "Overrides", command: str | None, tests: bool) -> "ReplayOptions":
    """How to judge changes: by the changed scripts, by what `command` runs, or by the tests of their projects.

    Raises:
        UsageError: an option or a setting makes no sense.
    """
    if not tests:
        program = None if command is None else program_of(command, given)
        return replay_options(given, overrides, Path.cwd(), program)
    if command is not None:
        raise UsageError("--replay-command and --replay-tests contradict each other")
    return dataclasses.replace(replay_options(on_simulation(given), overrides, Path.cwd(), None), suite=())


def on_simulation(given: Given) -> Given:
    """The same options, where the tests of a project run: nothing else can put what they make on a device.

    Raises:
        UsageError: they say something else.
    """
    if given.on not in (None, On.AUTO, On.SIMULATED):
        raise UsageError(f"--on {given.on}: tests run on the simulated accelerator, which puts what they make on it")
    return dataclasses.replace(given, on=On.SIMULATED)


def program_of(command: str, given: RunOptions) -> "Program":
    """What `--replay-command` runs.

    Raises:
        UsageError: it cannot be replayed.
    """
    from devfix.replay import ProgramError, parse_command

    paths = dict(_variable(text) for text in given.env or ()).get("PYTHONPATH")
    try:
        return parse_command(command, _folder(given.cwd) or Path.cwd(), paths)
    except ProgramError as error:
        raise UsageError(f"--replay-command: {error}") from error


def _confinement(python: str) -> "Confinement":
    from devfix.replay.confinement import find_confinement

    found = find_confinement(python)
    if isinstance(found, str):
        raise UsageError(f"--sandbox: {found}")
    return found


def _on(given: RunOptions, settings: "ReplaySettings") -> str:
    if given.on is not None:
        return given.on.value
    if settings.on is not None and settings.on not in list(On):
        raise UsageError(f"[tool.devfix] replay.on: {settings.on!r} is none of {', '.join(On)}")
    return settings.on or On.AUTO.value


def _first(*values: T | None) -> T:
    return next(value for value in values if value is not None)


def _size(option: str, text: str | None) -> int | None:
    from devfix.project.settings import parse_size

    if text is None:
        return None
    size = parse_size(text)
    if not size:
        raise UsageError(f"{option} {text!r} is no size; write it like 512MiB")
    return size


def _memory(text: str | None) -> int | None:
    size = _size("--memory", text)
    if size is not None and size < LEAST_MEMORY:
        raise UsageError(f"--memory {text!r} is too little to import torch; write it like 8GiB")
    return size


def _variable(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--env {text!r} sets nothing; write it like KEY=VALUE")
    return key, value


def _folder(name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name)
    if not path.is_dir():
        raise UsageError(f"--cwd {name}: {'not a folder' if path.exists() else 'no such folder'}")
    return path.resolve()
