"""`devfix batch`: `run`, `status`, `retry` and `report`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from devfix.batch.choices import Commits, EngineName, Existing, Publish
from devfix.commands import options
from devfix.commands.grouping import grouped
from devfix.formats import OutputFormat

if TYPE_CHECKING:
    from devfix.batch.engines import Engine
    from devfix.batch.records import Rules


class _RunByDefault(TyperGroup):
    """`devfix batch repos.toml` is `devfix batch run repos.toml`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and (not args[0].startswith("-") or args[0] == "-"):
            args = ["run", *args]
        return super().parse_args(ctx, args)


batch = typer.Typer(
    cls=_RunByDefault,
    name="batch",
    help="Migrate many repositories: find, rewrite, replay, commit and report.",
    epilog="Exit codes: 0 all is well, 1 a fix of a repository was refuted, 2 wrong usage or a repository failed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Manifest = Annotated[
    str, typer.Argument(metavar="MANIFEST", help="A TOML file, a folder of checkouts, or - for a list of repositories.")
]
Folder = Annotated[str, typer.Argument(metavar="DIR", help="The folder of the run.")]
Out = Annotated[str, typer.Option("--out", "-o", metavar="DIR", help="The folder of the run. Given again, it goes on.")]
HowToPublish = Annotated[
    Publish | None, typer.Option("--publish", help="What becomes of the commits: a patch, if nothing is said.")
]
WhereThere = Annotated[
    Existing | None, typer.Option("--existing", help="What to do where a repository has the branch already (skip).")
]
HowToCommit = Annotated[
    Commits | None, typer.Option("--commits", help="One commit for each rule, or one for all (rule).")
]
Branch = Annotated[str | None, typer.Option("--branch", metavar="NAME", help="The branch (devfix/DATE-RULES).")]
Replay = Annotated[
    bool, typer.Option("--replay", help="Run their code: the set-up, the checks and the replay. In a sandbox.")
]
ReplayTests = Annotated[
    bool,
    typer.Option("--replay-tests", help="Like --replay, with the tests of each repository that names no command."),
]
TrustCode = Annotated[bool, typer.Option("--trust-code", help="Where there is no sandbox, run their code without one.")]
DropClones = Annotated[
    bool, typer.Option("--drop-clones", help="Remove the clone of each repository when it is finished.")
]
Where = Annotated[EngineName, typer.Option("--engine", help="Where repositories are worked on.")]
Workers = Annotated[
    int | None, typer.Option("--workers", "-j", metavar="N", min=1, help="How many at a time, on this machine.")
]
Accelerators = Annotated[
    str, typer.Option("--accelerators", metavar="LIST", help="What replays share: auto, none, or cuda:0,cuda:1.")
]
Address = Annotated[
    str | None, typer.Option("--address", metavar="ADDRESS", help="The Ray cluster; auto is the one of this machine.")
]
Gpus = Annotated[float, typer.Option("--gpus", metavar="N", min=0.0, help="GPUs for each replay, on Ray.")]
Cpus = Annotated[float, typer.Option("--cpus", metavar="N", min=0.1, help="Cores for each repository, on Ray.")]
Failed = Annotated[bool, typer.Option("--failed", help="Those that failed.")]
Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Repositories, by their names.")]


@dataclass(frozen=True)
class EngineOptions:
    """Where repositories are worked on, as it was given."""

    engine: Where = EngineName.LOCAL
    workers: Workers = None
    accelerators: Accelerators = "auto"
    address: Address = None
    gpus: Gpus = 1.0
    cpus: Cpus = 1.0

    def chosen(self) -> "Engine":
        """The engine.

        Raises:
            UsageError: it cannot run here.
        """
        from devfix.batch.engines.choosing import choose

        return choose(self.engine, self.workers, self.accelerators, self.address, self.gpus, self.cpus)


@dataclass(frozen=True)
class RuleOptions:
    """What the command line says of the rules, over whatever the manifest and the repositories say."""

    select: options.Select = None
    ignore: options.Ignore = None
    unsafe: options.Unsafe = None
    suggestions: options.Suggestions = None
    min_confidence: options.MinConfidence = None
    target_torch: options.TargetTorch = None

    def rules(self) -> "Rules":
        """The rules as records.

        Raises:
            UsageError: as `AnalysisOptions.overrides`.
        """
        from devfix.batch.records import Rules

        given = options.AnalysisOptions(
            select=self.select,
            ignore=self.ignore,
            unsafe=self.unsafe,
            suggestions=self.suggestions,
            min_confidence=self.min_confidence,
            target_torch=self.target_torch,
        ).overrides()
        return Rules(
            given.select, given.ignore, given.unsafe, given.target_torch, given.suggestions, given.min_confidence
        )


@batch.command()
@grouped
def run(
    manifest: Manifest,
    *,
    out: Out = "devfix-batch",
    publish: HowToPublish = None,
    existing: WhereThere = None,
    commits: HowToCommit = None,
    branch: Branch = None,
    replay: Replay = False,
    replay_tests: ReplayTests = False,
    trust_code: TrustCode = False,
    drop_clones: DropClones = False,
    quiet: options.Quiet = False,
    chosen: RuleOptions,
    where: EngineOptions,
) -> int:
    """Migrate the repositories of a manifest. Stopped at any point, the same command goes on."""
    from devfix.batch import driver

    execute = replay or replay_tests
    wishes = driver.Wishes(publish, existing, commits, branch, execute, trust_code, drop_clones, replay_tests)
    return driver.run(manifest, out, wishes, chosen.rules(), where.chosen(), quiet)


@batch.command()
def status(folder: Folder, output_format: options.Format = OutputFormat.TEXT) -> int:
    """Show how far a run is, also while it goes on."""
    from devfix.batch import driver

    return driver.status(folder, output_format)


@batch.command()
@grouped
def retry(
    folder: Folder,
    names: Names = None,
    *,
    failed: Failed = False,
    quiet: options.Quiet = False,
    where: EngineOptions,
) -> int:
    """Do repositories of a run again: those that failed, or some by name."""
    from devfix.batch import driver

    return driver.retry(folder, names or (), failed, where.chosen(), quiet)


@batch.command()
def report(folder: Folder) -> int:
    """Write the report of a run anew."""
    from devfix.batch import driver

    return driver.report(folder)
