"""Repositories of strangers, made on this machine, and what a batch is told of them."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devfix.batch.records import Plan, Repository

DATE = "2026-11-20T10:00:00+01:00"
BRANCH = "devfix/2026-11-20-all"


def git(folder: Path, *arguments: str, data: bytes = b"") -> str:
    """What git prints, with nobody's settings but those that a commit needs."""
    environment = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": "1700000000 +0000",
        "GIT_COMMITTER_DATE": "1700000000 +0000",
    }
    settings = ("user.name=A", "user.email=a@b", "protocol.file.allow=always", "init.defaultBranch=main")
    options = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, env=environment, input=data, capture_output=True, check=True
    )
    return os.fsdecode(done.stdout).rstrip("\n")


def committed(folder: Path, files: Mapping[str, bytes | str], message: str = "Work") -> str:
    """Commit these files, links where the content is text, in the repository `folder`, made if it is not there."""
    if not folder.exists():
        folder.mkdir(parents=True)
        git(folder, "init", "-q")
        (folder / ".git" / "info" / "attributes").write_text("* -text -filter -ident -working-tree-encoding\n")
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            place.symlink_to(content)
        else:
            place.write_bytes(content)
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def bare(folder: Path, source: Path) -> Path:
    """A bare repository with all that `source` has."""
    git(folder.parent, "clone", "-q", "--bare", str(source), str(folder))
    return folder


def plan(folder: Path, **fields: Any) -> Plan:
    folder.mkdir(exist_ok=True)
    return Plan(folder=str(folder), branch=BRANCH, date=DATE, **fields)


def repository(source: Path | str, **fields: Any) -> Repository:
    return Repository(**{"name": "project", "source": str(source), **fields})
