"""The bare clone of a source, which all entries of the manifest with that source share.

It holds no more history than it must. Whoever runs git in it holds its lock, and so does every git that is started, so
that one which outlives a killed run is waited for.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from devfix.batch.errors import RepositoryError
from devfix.batch.git.filelocks import locked
from devfix.batch.git.identity import digest
from devfix.batch.git.process import Git, upload_pack
from devfix.batch.git.remotes import Wanted, url_of
from devfix.batch.git.sources import shown

_NEEDS_HISTORY = ("revision not found", "git failed")
"""How a fetch of one commit fails at servers that give whole branches only, some in words that nobody knows:
https://git-scm.com/docs/git-config, uploadpack.allowAnySHA1InWant."""
_FETCH = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules")
_EVERYTHING = ("+refs/heads/*:refs/devfix-all/heads/*", "+refs/tags/*:refs/devfix-all/tags/*")
_ATTRIBUTES = "* -text -ident -filter -working-tree-encoding\n"
"""Wins over every .gitattributes: what is on the disk is what is in the commit, byte for byte."""


class Clone:
    """The bare clone of `source` in `folder`. `prepare` makes it where there is none."""

    def __init__(self, clones: Path, source: str, git: Git) -> None:
        clones.mkdir(parents=True, exist_ok=True)
        self.source = source
        self.folder = clones / f"{_readable(source)}-{digest(source)}.git"
        self._lock = self.folder.with_suffix(".lock")
        self._git = git
        self._held: int | None = None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else uses the clone meanwhile; what a killed git left locked in it is free again.

        Raises:
            RepositoryError: another one keeps it for too long.
        """
        with locked(self._lock, self.folder) as self._held:
            try:
                for left in [*self.folder.glob("*.lock"), *self.folder.glob("refs/**/*.lock")]:
                    left.unlink(missing_ok=True)
                yield
            finally:
                self._held = None

    def run(self, *arguments: str, data: bytes = b"", at: Path | None = None, tree: Path | None = None) -> bytes:
        """git on the clone, or on the repository `at` with its worktree `tree`, as `Git.run`.

        What changes the clone is run under its lock.
        """
        place = at or self.folder
        environment = {"GIT_DIR": str(place), **({} if tree is None else {"GIT_WORK_TREE": str(tree)})}
        held = () if self._held is None else (self._held,)
        return self._git.run(*arguments, folder=place, data=data, environment=environment, inherit=held)

    def prepare(self, wanted: Wanted) -> None:
        """Make the clone, whole or not at all, where there is none."""
        if self.folder.exists():
            return
        new = self.folder.with_suffix(".new")
        self._init(new, wanted.like or wanted.name)
        with (new / "config").open("a", encoding="ascii") as config:
            config.write("[core]\n\tsymlinks = false\n")  # for the git of a repository's own tools; ours is told anyway
        (new / "info").mkdir(exist_ok=True)
        (new / "info" / "attributes").write_text(_ATTRIBUTES, encoding="ascii")
        new.rename(self.folder)

    def _init(self, place: Path, name: str) -> None:
        """An empty repository for objects with names like `name`."""
        remove(place)
        place.mkdir()
        form = "sha256" if len(name) == 64 else "sha1"
        options = ["--quiet", "--bare", "--template=", "--initial-branch=none", f"--object-format={form}"]
        self.run("init", *options, at=place)

    def fetch(self, wanted: Wanted, own: str) -> str:
        """Bring the wanted commit in, keep it at the ref `own`, and return its name."""
        if wanted.ref is None:
            return self._fetch_commit(wanted.name, own)
        if self._at(own) != wanted.name:
            self._fetch_shallow(f"+{wanted.ref}:{own}")
        return self._commit_at(own, wanted)

    def commit_there(self, branch: str, name: str) -> bytes:
        """The commit `name`, as git stores it, that a branch of the source is at.

        It does not come into the clone, where it would be one without parents, and may be one that is made again.
        """
        place = self.folder.with_suffix(".look")
        self._init(place, name)
        options = [*_FETCH, "--depth=1", "--filter=tree:0", *upload_pack(self.source)]
        try:
            self.run("fetch", *options, "--", url_of(self.source), f"refs/heads/{branch}:refs/heads/it", at=place)
            return self.run("cat-file", "commit", "refs/heads/it", at=place)
        finally:
            remove(place)

    def _fetch_commit(self, name: str, own: str) -> str:
        wanted = Wanted(name, None, None, None)
        if wanted.is_whole and self._at(f"{name}^{{commit}}") is None:
            self._fetch_shallow(f"+{name}:{own}", instead=_EVERYTHING)
        elif not wanted.is_whole:
            self._fetch(*_EVERYTHING)
        return self._commit_at(name, wanted, own)

    def _fetch_shallow(self, refspec: str, instead: Sequence[str] = ()) -> None:
        """Without history, or with it where the server cannot otherwise."""
        try:
            self._fetch(refspec, shallow=True)
        except RepositoryError as error:
            if error.kind not in _NEEDS_HISTORY:
                raise
            self._fetch(*(instead or (refspec,)))

    def _fetch(self, *refspecs: str, shallow: bool = False) -> None:
        options = list(_FETCH)
        if shallow:
            options.append("--depth=1")
        elif (self.folder / "shallow").exists():
            options.append("--unshallow")
        else:
            options.append("--update-shallow")
        self.run("fetch", *options, *upload_pack(self.source), "--", url_of(self.source), *refspecs)

    def _at(self, ref: str) -> str | None:
        with suppress(RepositoryError):
            return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref).decode().strip()
        return None

    def _commit_at(self, name: str, wanted: Wanted, keep: str | None = None) -> str:
        commit = self._at(f"{name}^{{commit}}")
        if commit is None:
            raise RepositoryError("revision not found", f"{shown(self.source)} has no commit {wanted.name!r}")
        if keep is not None:
            self.run("update-ref", keep, commit)
        return commit

    def forget(self, tree: Path) -> None:
        """Take the worktree at `tree` out of the books, and all whose trees are gone."""
        for entry in self._worktrees():
            with suppress(OSError):
                place = Path(os.fsdecode((entry / "gitdir").read_bytes().rstrip(b"\n")))
                if place != tree / ".git" and place.exists():
                    continue
            shutil.rmtree(entry, ignore_errors=True)

    @property
    def has_worktrees(self) -> bool:
        return bool(self._worktrees())

    def _worktrees(self) -> Sequence[Path]:
        return sorted((self.folder / "worktrees").glob("*"))


def remove(path: Path) -> None:
    """Remove a file or folder whatever its depth, which `shutil.rmtree` cannot, and whatever its permissions.

    Raises:
        RepositoryError: it cannot be removed.
    """
    for command in (["rm", "-rf", "--"], ["chmod", "-R", "u+rwx", "--"], ["rm", "-rf", "--"]):
        if not os.path.lexists(path):
            return
        subprocess.run([*command, str(path)], capture_output=True, check=False)
    if os.path.lexists(path):
        raise RepositoryError("left-overs", f"{path} cannot be removed")


def _readable(source: str) -> str:
    last = re.split(r"[/:]", shown(source).rstrip("/"))[-1].removesuffix(".git")
    return re.sub(r"[^A-Za-z0-9_-]+", "-", last)[:40].strip("-") or "repository"
