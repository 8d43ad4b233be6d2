"""What a source has: the commit that is wanted, and the branch that may be there already."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from devfix.batch.errors import RepositoryError
from devfix.batch.git.process import Git, upload_pack
from devfix.batch.git.sources import revision_fault, shown
from devfix.batch.records import Repository
from devfix.errors import close_match

_WHOLE_NAME = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SHORT_NAME = re.compile(r"[0-9a-f]{7,63}")


@dataclass(frozen=True)
class Wanted:
    """What to fetch: `ref`, which is at `name` now, or where None the commit with that name, which may be abbreviated.

    `base` is the branch that a pull request would go to. `existing` is where the source has the batch's own branch.
    `like` is a whole name of the source, where `name` may be abbreviated.
    """

    name: str
    ref: str | None
    base: str | None
    existing: str | None
    like: str | None = None

    @property
    def is_whole(self) -> bool:
        return _WHOLE_NAME.fullmatch(self.name) is not None


def url_of(source: str) -> str:
    """What git is told. A folder becomes a URL, so that git neither copies nor links its files."""
    return f"file://{quote(source)}" if source.startswith("/") else source


def look_up(repository: Repository, branch: str, git: Git, folder: Path) -> Wanted:
    """Ask the source for the wanted revision and for `branch`. git runs in `folder`.

    A branch is preferred to a tag of the same name.

    Raises:
        RepositoryError: the source cannot be read or lacks the revision.
    """
    source, revision = repository.source, repository.revision
    _refuse_missing(source)
    only = ["--heads", "--tags"] if revision is not None and not revision.startswith("refs/") else []
    listed = git.run("ls-remote", "--symref", *only, *upload_pack(source), "--", url_of(source), folder=folder)
    tips, head = _parsed(listed)
    existing = tips.get(f"refs/heads/{branch}")
    if revision is None:
        return _at_head(repository, tips, head, existing)
    for ref in (f"refs/heads/{revision}", f"refs/tags/{revision}", revision):
        if ref.startswith("refs/") and ref in tips:
            return Wanted(tips[ref], ref, _branch(ref), existing)
    if _WHOLE_NAME.fullmatch(revision) or _SHORT_NAME.fullmatch(revision):
        return Wanted(revision, None, None, existing, next(iter(tips.values()), None))
    known = close_match(revision, (ref.split("/", 2)[2] for ref in tips if not ref.endswith("^{}") and "/" in ref))
    raise RepositoryError("revision not found", f"{shown(source)} has no branch, tag or commit {revision!r}{known}")


def _refuse_missing(source: str) -> None:
    if not source.startswith("/"):
        return
    if not Path(source).exists():
        raise RepositoryError("repository not found", f"{source} does not exist")


def _parsed(listed: bytes) -> tuple[dict[str, str], str | None]:
    """Where each ref is, and which branch HEAD names."""
    tips: dict[str, str] = {}
    head = None
    for left, ref in _fields(listed):
        if left.startswith("ref: "):
            name = left.removeprefix("ref: ")
            head = name if ref == "HEAD" and revision_fault(name) is None else head
        elif _WHOLE_NAME.fullmatch(left):
            tips[ref] = left
    return tips, head


def _fields(listed: bytes) -> Iterator[tuple[str, str]]:
    for line in listed.decode("utf-8", "surrogateescape").split("\n"):
        left, tab, right = line.partition("\t")
        if tab:
            yield left, right


def _at_head(repository: Repository, tips: dict[str, str], head: str | None, existing: str | None) -> Wanted:
    if head is not None and head in tips:
        return Wanted(tips[head], head, _branch(head), existing)
    if "HEAD" in tips:
        return Wanted(tips["HEAD"], "HEAD", None, existing)
    if not tips:
        raise RepositoryError("empty repository", f"{shown(repository.source)} has no commits")
    raise RepositoryError(
        "revision not found", f"HEAD of {shown(repository.source)} names no branch that is there; say a revision"
    )


def _branch(ref: str) -> str | None:
    return ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None
