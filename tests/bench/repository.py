"""A git repository made on the fly, to take bugs from."""

import os
import subprocess
from pathlib import Path

GIT = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class History:
    """A mirror of one repository: each call of `commit` adds a commit that writes these files."""

    name = "some/where"

    def __init__(self, folder: Path) -> None:
        self.mirrors = folder / "mirrors"
        self._tree = self.mirrors / "some+where" / "repo"
        self._tree.mkdir(parents=True)
        self._git("init", "--quiet")

    def commit(self, subject: str, **files: str) -> None:
        """The names of `files` are those of modules; two underscores stand for a slash."""
        for name, text in files.items():
            place = self._tree / f"{name.replace('__', '/')}.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self._git("add", "--all")
        self._git("commit", "--quiet", "--message", subject)

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self._tree, check=True, env={**os.environ, **GIT})
