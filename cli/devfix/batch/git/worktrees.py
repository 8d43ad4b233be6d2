"""A worktree: the files of a commit on the disk, and the commits that are made on top of it.

Once strangers' code may have run in it, nothing in it is believed: git is told where its repository is and never looks
at the tree's own `.git`.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from devfix.atomic import put
from devfix.batch.errors import RepositoryError
from devfix.batch.git.bare import Clone, remove
from devfix.batch.git.identity import TRAILER, Identity
from devfix.batch.git.links import make_links, real_folder
from devfix.batch.git.process import receive_pack
from devfix.batch.git.remotes import Wanted, url_of
from devfix.batch.git.trees import Tree, read_tree, require_room
from devfix.batch.records import Commit
from devfix.reporting.terminal import visible

_DIFF = (
    *("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--no-relative", "--full-index", "--binary"),
    *("--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/"),
)
_PATCH = (
    *("--stdout", "--no-signature", "--no-stat", "--no-attach", "--no-thread", "--no-cover-letter", "--no-base"),
    *("--no-notes", "--no-from", "--no-to", "--no-cc", "--no-add-header", "--no-numbered", "--subject-prefix=PATCH"),
    "--encode-email-headers",
)


def open_worktree(clone: Clone, work: Path, commit: str, branch: str) -> Tree:
    """Put the files of `commit` into `work/tree`, on `branch`, which starts there anew. What was in `work` goes.

    Raises:
        RepositoryError: they have no room, or paths that cannot be written.
    """
    tree = read_tree(commit, clone)
    folder = work / "tree"
    remove(work)
    work.mkdir(parents=True)
    clone.forget(folder)
    require_room(tree, work)
    clone.run("worktree", "add", "--quiet", "--force", "-B", branch, "--", str(folder), commit)
    make_links(folder, tree.links)
    return tree


class Checkout:
    """The files of `commit` in `folder`, and the branch that starts there.

    `top` is the subfolder that is worked on. `base` is the branch of the source that `commit` is the tip of, None for
    a tag or a commit. `repository` is the bare clone, without which the tree's `.git` leads nowhere: a sandbox shows it
    read-only. `scratch` is a folder beside the tree that goes with it.
    """

    def __init__(
        self,
        clone: Clone,
        work: Path,
        commit: str,
        wanted: Wanted,
        branch: str,
        identity: Identity,
        tree: Tree,
        subfolder: str,
    ) -> None:
        self.folder = work / "tree"
        self.scratch = work
        self.repository = clone.folder
        self.commit = self.head = commit
        self.base = wanted.base
        self.existing = wanted.existing
        self.branch = branch
        self._clone = clone
        self._identity = identity
        self._tree = tree
        self._binary: set[str] = set()
        self._git_dir = _git_dir(self.folder)
        if tree.links:
            self._refresh()
        self.top = self._subfolder(subfolder)

    def tracked(self, path: str) -> bool:
        """Whether `path`, relative to the worktree, is a regular file of the commit."""
        return path in self._tree.files

    def write_files(self, files: Mapping[str, bytes]) -> None:
        """Give tracked files, by path relative to the worktree, these contents, and keep their modes.

        Raises:
            RepositoryError: one is not tracked, is no regular file any more, or cannot be written.
        """
        for path, data in files.items():
            self._require_own(path)
            try:
                put(str(self.folder / path), data)
            except OSError as error:
                raise RepositoryError(
                    "file not written", f"{visible(path)} cannot be written: {error.strerror}"
                ) from error

    def commit_files(self, files: Mapping[str, bytes], message: str) -> Commit:
        """Write the files, and commit just them on top of the branch. The same input makes the same commit.

        The message is ended by a line that marks the commit as one of this run.

        Raises:
            RepositoryError: as `write_files`, or git failed.
        """
        self.write_files(files)
        with self._clone.locked():
            self._clone.run("fast-import", "--quiet", "--done", data=self._stream(files, message))
            self.head = self._clone.run("rev-parse", "--verify", f"refs/heads/{self.branch}").decode().strip()
        self._refresh()
        return Commit(self.head, message.partition("\n")[0])

    def diff(self) -> bytes:
        """All that was committed, as one unified diff."""
        return self._clone.run("diff-tree", "-r", "-p", *_DIFF, self.commit, self.head)

    def patch(self) -> bytes:
        """All that was committed, for `git am`: files with Windows line ends, which it would change, as binary ones."""
        attributes = self.scratch / "attributes"
        attributes.write_bytes(b"".join(_quoted(f"/{path}", b"\\*?[") + b" -diff\n" for path in sorted(self._binary)))
        settings = ("-c", f"core.attributesFile={attributes}")
        return self._clone.run(*settings, "format-patch", *_PATCH, *_DIFF, f"{self.commit}..{self.head}")

    def push(self) -> None:
        """Bring the branch to the source, where it must still be as it was seen at the start.

        Raises:
            RepositoryError: it is not, or the source refuses.
        """
        there = f"refs/heads/{self.branch}"
        lease = f"--force-with-lease={there}:{self.existing or ''}"
        options = ["--quiet", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no", lease]
        source = self._clone.source
        with self._clone.locked():
            self._clone.run("push", *options, *receive_pack(source), "--", url_of(source), f"{self.head}:{there}")

    def _refresh(self) -> None:
        """Let git's own record of the worktree agree with the last commit and with the files."""
        with self._clone.locked(), suppress(RepositoryError):  # only the repository's own tools look at it
            self._clone.run("reset", "--quiet", "--mixed", at=self._git_dir, tree=self.folder)

    def _require_own(self, path: str) -> None:
        if not self.tracked(path):
            raise RepositoryError("file not written", f"{visible(path)} is no regular file of the commit")
        place = self.folder / path
        above = path.rpartition("/")[0]
        is_reached = not above or real_folder(self.folder, above) is not None
        if not is_reached or place.is_symlink() or not place.is_file():
            raise RepositoryError("file not written", f"{visible(path)} is no regular file any more")

    def _stream(self, files: Mapping[str, bytes], message: str) -> bytes:
        """What git's fast-import is told: https://git-scm.com/docs/git-fast-import."""
        text = f"{message.rstrip()}\n\n{TRAILER}: {self._identity.run}\n".encode("utf-8", "backslashreplace")
        signature = self._identity.signature
        head = f"commit refs/heads/{self.branch}\nauthor {signature}\ncommitter {signature}\n".encode()
        parts = [head, _counted(text), f"from {self.head}\n".encode()]
        for path, data in sorted(files.items()):
            mode = "100755" if self._tree.files[path] == "100755" else "100644"
            parts += [f"M {mode} inline ".encode(), _quoted(path), b"\n", _counted(data)]
            if b"\r\n" in data:
                self._binary.add(path)
        return b"".join([*parts, b"done\n"])

    def _subfolder(self, path: str) -> Path:
        if not path:
            return self.folder
        folder = real_folder(self.folder, path)
        if folder is None:
            raise RepositoryError("subfolder not found", f"{visible(path)} is no folder of the revision")
        return folder


def _git_dir(folder: Path) -> Path:
    """Where the worktree's own part of the repository is, as git wrote it a moment ago."""
    return Path(os.fsdecode((folder / ".git").read_bytes()).removeprefix("gitdir: ").rstrip("\n"))


def _counted(data: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(data), data)


def _quoted(path: str, escaped: bytes = b"") -> bytes:
    """A path as git reads it between quotes; the letters in `escaped` mean something there and are not to."""
    data = os.fsencode(path)
    for letter in escaped:
        data = data.replace(bytes([letter]), b"\\" + bytes([letter]))
    return b'"' + data.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
