"""`devfix rewrite`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from devfix.commands import options
from devfix.formats import OutputFormat

if TYPE_CHECKING:
    from devfix.replay import ReplayOptions


class On(StrEnum):
    """Where a replay runs."""

    AUTO = "auto"
    CUDA = "cuda"
    XPU = "xpu"
    MPS = "mps"
    NPU = "npu"
    CPU = "cpu"


Diff = Annotated[bool, typer.Option("--diff", "--dry-run", help="Show the patch, write nothing.")]
AllowDirty = Annotated[bool, typer.Option("--allow-dirty", help="Write files that have uncommitted changes.")]
Replay = Annotated[bool, typer.Option("--replay", help="Run each changed script before and after its patch.")]
ReplayOn = Annotated[On, typer.Option("--on", help="Where to replay.")]
ReplayTimeout = Annotated[
    float, typer.Option("--replay-timeout", metavar="SECONDS", min=0.1, help="The limit for each run of a replay.")
]


def rewrite(
    paths: options.Paths = None,
    diff: Diff = False,
    unsafe: options.Unsafe = None,
    allow_dirty: AllowDirty = False,
    replay: Replay = False,
    on: ReplayOn = On.AUTO,
    replay_timeout: ReplayTimeout = 300.0,
    select: options.Select = None,
    ignore: options.Ignore = None,
    target_torch: options.TargetTorch = None,
    exclude: options.Exclude = None,
    force_exclude: options.ForceExclude = False,
    jobs: options.Jobs = None,
    no_cache: options.NoCache = False,
    quiet: options.Quiet = False,
    output_format: options.Format = OutputFormat.TEXT,
    stdin_filename: options.StdinFilename = None,
    config: options.Config = None,
    isolated: options.Isolated = False,
) -> int:
    """Repair what has a safe fix. `devfix undo` takes it back."""
    from devfix.rewriting import Mode
    from devfix.rewriting import rewrite as run

    overrides = options.overrides_of(
        select, ignore, exclude, unsafe, target_torch, jobs, force_exclude, config, isolated
    )
    ask = options.ask_of(paths, overrides, output_format, quiet, no_cache, stdin_filename)
    return run(ask, Mode(diff, allow_dirty, _replay_options(on, replay_timeout) if replay else None))


def _replay_options(on: On, timeout: float) -> "ReplayOptions":
    from devfix.replay import ReplayOptions

    return ReplayOptions(on=on.value, timeout=timeout)
