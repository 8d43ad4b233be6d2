"""What passes between the parts of a batch: the repositories wanted, what a worker is told, and what became of each.

Plain data that travels as JSON, to other processes and other machines. Durations are in seconds, sizes in bytes.
"""

from enum import StrEnum

import msgspec

from devfix.batch.choices import Commits, Existing, Publish


class State(StrEnum):
    """How far a repository is. The last five are final."""

    QUEUED = "queued"
    RUNNING = "running"
    CHANGED = "changed"
    """Fixes were made, and none was refuted."""
    CLEAN = "clean"
    """There was nothing to fix."""
    REFUTED = "refuted"
    """A replay or a check refuted at least one fix; it was dropped, and what holds was kept."""
    SKIPPED = "skipped"
    """The branch was there already, and `Existing.SKIP` was asked for."""
    FAILED = "failed"

    @property
    def is_final(self) -> bool:
        return self not in (State.QUEUED, State.RUNNING)


class Rules(msgspec.Struct, frozen=True):
    """Which rules run; None is for the repository's own settings to say."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    unsafe: bool | None = None
    target_torch: tuple[int, int] | None = None
    suggestions: bool | None = None
    min_confidence: float | None = None


class Replay(msgspec.Struct, frozen=True):
    """How a repository's code is run, and what it may use.

    `command` is typed in the subfolder; without one each changed script is run, or with `tests` the project's own
    tests. `timeout` and `memory` hold for each run and each process; `processes` is how many may live at once, `disk`
    what a run may write. `python` is the interpreter, None for the one that runs devfix, or for that of the environment
    that a set-up command fills.
    """

    command: str | None = None
    on: str = "auto"
    devices: int = 1
    steps: int | None = None
    seed: int = 0
    timeout: float = 300.0
    memory: int | None = None
    processes: int = 256
    disk: int = 2 << 30
    network: bool = False
    env: tuple[tuple[str, str], ...] = ()
    python: str | None = None
    tests: bool = False


class Repository(msgspec.Struct, frozen=True):
    """One repository as the manifest wants it.

    `name` is unique in a run and serves as a file name: letters, digits, `.`, `_` and `-`. `source` is a URL that git
    understands or the absolute path of a repository; `revision` a branch, tag or commit, None for what HEAD is.
    `subfolder` is relative, with forward slashes, "" for the whole. `setup` and `checks` are shell commands, run in the
    subfolder, and like the replay only where code may be executed. `timeout` is for everything together.
    """

    name: str
    source: str
    revision: str | None = None
    subfolder: str = ""
    rules: Rules = Rules()
    replay: Replay = Replay()
    setup: str | None = None
    setup_network: bool = False
    checks: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    timeout: float = 3600.0


class Plan(msgspec.Struct, frozen=True):
    """What holds for all repositories of a run.

    `folder` is the run's, absolute: nothing is written outside it. `branch` and `date` (ISO 8601 with its offset) are
    chosen when the run first starts and kept when it goes on, so that the same commits come out. `execute` allows the
    replay, the checks and the set-up; `trust_code` allows them without a sandbox. With `tests` the replay runs the
    tests of each repository that has no command. `git_config` are the settings that
    git is given beside our own.
    """

    folder: str
    branch: str
    date: str
    publish: Publish = Publish.PATCH
    existing: Existing = Existing.SKIP
    commits: Commits = Commits.RULE
    execute: bool = False
    trust_code: bool = False
    keep_clones: bool = True
    git_config: tuple[tuple[str, str], ...] = ()
    tests: bool = False


class Job(msgspec.Struct, frozen=True):
    """What a worker is told. `cores` is how many it may keep busy; `environment` names its accelerator."""

    plan: Plan
    repository: Repository
    attempt: int = 1
    cores: int = 1
    environment: tuple[tuple[str, str], ...] = ()


class Stop(msgspec.Struct, frozen=True):
    """A stop on a trail; `path` is relative to the repository, `line` in a notebook that in the cell."""

    path: str
    line: int
    note: str
    cell: int | None = None


class Fix(msgspec.Struct, frozen=True):
    """A finding that `rewrite` repaired: its place before, its trail, and what the runs say of it.

    A suggestion is one too, which nobody applied: its place is the one afterwards.

    Of a notebook, `line` is that in the cell with the number `cell`. `verdict` is that of a replay, None where nothing
    was run. `dropped` says why it was taken back, None where it was not. `confidence` is there where it is below 1.
    """

    path: str
    line: int
    column: int
    code: str
    name: str
    message: str
    safety: str
    title: str
    cell: int | None = None
    trail: tuple[Stop, ...] = ()
    verdict: str | None = None
    dropped: str | None = None
    confidence: float | msgspec.UnsetType = msgspec.UNSET

    @property
    def doubt(self) -> str:
        """`confidence 0.84`; empty where nothing is in doubt."""
        return "" if self.confidence is msgspec.UNSET else f"confidence {self.confidence:.2f}"


class Verdict(msgspec.Struct, frozen=True):
    """What the replay says of one changed file, with its reasons in order, the verdict's own first."""

    path: str
    kind: str
    on: str = ""
    command: str = ""
    reasons: tuple[str, ...] = ()


class CheckRun(msgspec.Struct, frozen=True):
    """A command of the project before and after the fixes: how each ended, in words, and whether it passed."""

    command: str
    before: str
    after: str
    passed_before: bool
    passed_after: bool
    seconds: float


class Commit(msgspec.Struct, frozen=True):
    sha: str
    subject: str


class Error(msgspec.Struct, frozen=True):
    """Why a repository failed. `kind` groups equal reasons: a few words that hold no name, path or number of one."""

    kind: str
    message: str


class Outcome(msgspec.Struct, frozen=True):
    """What became of one repository.

    `commit` is what its branch starts from. `files` were read, `findings` are left; `suggestions` are among them.
    `patch` is all that was changed, for `git am`; `diff` the same as one unified diff. `body` is the text of a pull
    request, `published` names the remote branch or the pull request. `unhandled` are the files that could not be read
    as Python or written, with the reason. `seconds` are those of each phase: clone, rewrite, setup, checks, replay,
    commit, publish. `worker` is the machine.
    """

    name: str
    state: State
    commit: str = ""
    branch: str = ""
    files: int = 0
    findings: int = 0
    fixes: tuple[Fix, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    checks: tuple[CheckRun, ...] = ()
    commits: tuple[Commit, ...] = ()
    diff: bytes = b""
    patch: bytes = b""
    body: str = ""
    published: str | None = None
    unhandled: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    error: Error | None = None
    seconds: dict[str, float] = {}
    worker: str = ""
    suggestions: tuple[Fix, ...] = ()

    @property
    def kept(self) -> tuple[Fix, ...]:
        """The fixes that are in the branch."""
        return tuple(fix for fix in self.fixes if fix.dropped is None)
