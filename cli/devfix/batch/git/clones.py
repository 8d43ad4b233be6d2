"""A wanted revision of a repository on the disk, to be worked on."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from devfix.batch.choices import Existing, Publish
from devfix.batch.errors import BranchTakenError, RepositoryError
from devfix.batch.git.bare import Clone, remove
from devfix.batch.git.filelocks import locked
from devfix.batch.git.identity import Identity, branch_of, digest, identity_of
from devfix.batch.git.process import Git
from devfix.batch.git.remotes import Wanted, look_up
from devfix.batch.git.sources import shown
from devfix.batch.git.worktrees import Checkout, open_worktree
from devfix.batch.records import Plan, Repository


@contextmanager
def checkout(plan: Plan, repository: Repository, git: Git) -> Iterator[Checkout]:
    """A worktree of the wanted revision, on a branch of its own, in `work/<name>/tree` of the run's folder.

    `work/<name>` is made anew, and is removed with all that is in it on leaving. The branch stays in the clone; where
    the plan keeps no clones, the clone goes with the last worktree that it has at that moment.

    A worker whose driver was killed still tidies up when the next driver begins: it is waited for, or it would remove
    the files of its successor.

    Raises:
        BranchTakenError: the source has the branch already, the plan would publish there, and it is not to be replaced.
        RepositoryError: the source, the revision or the subfolder cannot be had, or another process works on it.
    """
    folder = Path(plan.folder).resolve()  # as the analysis names files, whatever links lead to the folder
    clone = Clone(folder / "clones", repository.source, git)
    work = folder / "work" / repository.name
    lock = clone.folder.parent / f"{digest(repository.name)}.work.lock"
    with locked(lock, work), _checkout(plan, repository, git, clone, work) as found:
        yield found


@contextmanager
def _checkout(plan: Plan, repository: Repository, git: Git, clone: Clone, work: Path) -> Iterator[Checkout]:
    branch, identity = branch_of(plan, repository), identity_of(plan, repository)
    wanted = look_up(repository, branch, git, clone.folder.parent)
    own = f"refs/devfix/{digest(repository.name)}"
    try:
        with clone.locked():
            is_old = clone.folder.exists()
            clone.prepare(wanted)
            _refuse_taken(plan, wanted, identity, clone, branch)
            commit = _fetched(clone, wanted, own, is_old)
            tree = open_worktree(clone, work, commit, branch)
        yield Checkout(clone, work, commit, wanted, branch, identity, tree, repository.subfolder)
    finally:
        with clone.locked():
            clone.forget(work / "tree")
            with suppress(RepositoryError):  # what cannot be removed now is removed, or told, by the next run
                remove(work)
                if not plan.keep_clones and not clone.has_worktrees:
                    remove(clone.folder)


def _refuse_taken(plan: Plan, wanted: Wanted, identity: Identity, clone: Clone, branch: str) -> None:
    """A branch that this run pushed before it was cut short is no obstacle: its last commit says whose it is."""
    is_guarded = plan.publish in (Publish.PUSH, Publish.PR) and plan.existing is Existing.SKIP
    if not is_guarded or wanted.existing is None:
        return
    if not identity.is_author_of(clone.commit_there(branch, wanted.existing)):
        raise BranchTakenError(f"{shown(clone.source)} has the branch {branch} already")


def _fetched(clone: Clone, wanted: Wanted, own: str, is_old: bool) -> str:
    """The wanted commit with all of its files; an old clone that is damaged is made anew, unless it is in use."""
    try:
        commit = clone.fetch(wanted, own)
        if is_old:
            clone.run("rev-list", "--objects", "--quiet", "--max-count=1", commit)
        return commit
    except RepositoryError as error:
        if not is_old or clone.has_worktrees or error.kind not in ("git failed", "revision not found"):
            raise
    remove(clone.folder)
    clone.prepare(wanted)
    return clone.fetch(wanted, own)
