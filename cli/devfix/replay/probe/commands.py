"""Commands of a shell that a notebook gives: those that install or download are not for a replay."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePath

INSTALLERS = frozenset(
    (
        *("pip", "pip3", "pipx", "easy_install", "conda", "mamba", "micromamba", "uv", "poetry", "pdm", "rye", "pixi"),
        *("apt", "apt-get", "aptitude", "dpkg", "yum", "dnf", "apk", "pacman", "zypper", "snap", "brew", "port"),
        *("npm", "npx", "yarn", "pnpm", "gem", "cargo", "jupyter"),
    )
)
_DOWNLOADERS = frozenset(
    (
        *(
            "wget",
            "curl",
            "aria2c",
            "axel",
            "gdown",
            "kaggle",
            "huggingface-cli",
            "hf",
            "rclone",
            "rsync",
            "scp",
            "sftp",
        ),
        *("ssh", "ftp", "aws", "gsutil", "gcloud", "az", "azcopy", "s3cmd", "svn", "hg", "dvc", "wandb", "ngrok"),
    )
)
_OF_GIT = frozenset(("clone", "fetch", "pull", "push", "submodule", "lfs", "ls-remote"))
_BEFORE = frozenset(("sudo", "time", "nohup", "env", "nice", "exec", "command", "yes", "xargs", "then", "do", "else"))
"""Words before the command that is meant."""
_SPLIT = re.compile(r"&&|\|\||[;&|\n()`]|\$\(")
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")


def is_refused(text: str) -> bool:
    """Whether any of the commands in `text` installs something, or reaches the network to load it."""
    return any(_is_refused(words) for piece in _SPLIT.split(text) if (words := list(_words(piece))))


def _is_refused(words: list[str]) -> bool:
    name = PurePath(words[0]).name
    if name in INSTALLERS or name in _DOWNLOADERS:
        return True
    if name == "git":
        return not _OF_GIT.isdisjoint(words[1:])
    # `{sys.executable} -m pip` is Python, too.
    return any(one == "-m" and other in INSTALLERS for one, other in zip(words, words[1:]))


def _words(piece: str) -> Iterator[str]:
    """The words of one command, from its name on."""
    try:
        words = shlex.split(piece, comments=True)
    except ValueError:
        words = piece.split()
    has_begun = False
    for word in words:
        has_begun = has_begun or not (word in _BEFORE or word.startswith("-") or _ASSIGNED.match(word))
        if has_begun:
            yield word
