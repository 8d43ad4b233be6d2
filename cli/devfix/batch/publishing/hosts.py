"""Hosts of repositories, and the commands that open pull requests there: `gh` and `glab`.

Their manuals: https://cli.github.com/manual/gh_pr_create, https://docs.gitlab.com/cli/mr/create/.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from devfix.batch.errors import RepositoryError
from devfix.batch.git.process import is_local
from devfix.batch.git.sources import shown
from devfix.reporting.terminal import one_line

SECONDS = 120.0
_SCP_LIKE = re.compile(r"(?:[^@/]+@)?([A-Za-z0-9.-]+):(?!//)(.+)")
_PATH = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)+")
_URL = re.compile(r"https://[\x21-\x7e]+")
_LONGEST_LINE = 400
_HOMES = {"gh": "https://cli.github.com", "glab": "https://gitlab.com/gitlab-org/cli"}


@dataclass(frozen=True)
class Place:
    """A repository on a host: `path` is `owner/name`, on GitLab with groups before it."""

    host: str
    path: str

    @property
    def program(self) -> str:
        """The command for this host: that of the product which is known to be there, or is in its name."""
        if self.host == _host_of_glab() or "gitlab" in self.host:
            return "glab"
        return "gh"

    @property
    def home(self) -> str:
        """Where the program can be had."""
        return _HOMES[self.program]


@dataclass(frozen=True)
class Request:
    """A pull request: from `branch` to `base`."""

    branch: str
    base: str
    title: str
    body: str
    labels: Sequence[str] = ()


def _host_of_glab() -> str | None:
    """The host that the user's environment names to `glab`, which takes a URL as well."""
    named = os.environ.get("GITLAB_HOST") or os.environ.get("GL_HOST") or ""
    try:
        return urlsplit(named if "://" in named else f"//{named}").hostname
    except ValueError:
        return None


def place_of(source: str) -> Place | None:
    """Where a source is hosted; None where no pull request can be opened: a folder, or a URL without owner and name."""
    if is_local(source):
        return None
    parts = urlsplit(source)
    scp_like = _SCP_LIKE.fullmatch(source)
    if parts.scheme and parts.hostname:
        host, path = parts.hostname, unquote(parts.path)
    elif scp_like is not None:
        host, path = scp_like[1], scp_like[2]
    else:
        return None
    path = path.strip("/").removesuffix(".git")
    return Place(host.lower(), path) if _PATH.fullmatch(path) else None


def is_ready(place: Place, folder: Path) -> str | None:
    """What keeps the host's command from being used, in words, or None. It runs in `folder`."""
    if shutil.which(place.program) is None:
        return f"{place.program} is not installed ({place.home})"
    try:
        _run([place.program, "auth", "status", "--hostname", place.host], folder)
    except RepositoryError as error:
        return f"{error} ({place.program} auth login)"
    return None


def open_request(place: Place, request: Request, folder: Path) -> str:
    """Open the pull request, or bring the open one of the branch up to date; returns its URL.

    The command runs in a folder of its own below `folder`, with the user's environment: it needs their token.

    Raises:
        RepositoryError: the command is missing, fails or answers with something else.
    """
    with tempfile.TemporaryDirectory(prefix="request-", dir=folder) as name:
        where = Path(name)
        opened = _with_glab if place.program == "glab" else _with_gh
        return opened(place, request, where)


def _with_gh(place: Place, request: Request, folder: Path) -> str:
    repository = ["--repo", f"{place.host}/{place.path}"]
    body = folder / "body.md"
    body.write_text(request.body, encoding="utf-8", errors="backslashreplace")
    text = [f"--title={request.title}", f"--body-file={body}"]
    fields = "--json=number,url,isCrossRepository"
    listed = _run(["gh", "pr", "list", *repository, f"--head={request.branch}", "--state=open", fields], folder)
    there = [one for one in _entries(listed, "gh") if not one.get("isCrossRepository")]
    if there:
        labels = [f"--add-label={label}" for label in request.labels]
        number = _number(there[0].get("number"), "gh")
        _run(["gh", "pr", "edit", number, *repository, *text, f"--base={request.base}", *labels], folder)
        return _url(str(there[0].get("url", "")), place)
    labels = [f"--label={label}" for label in request.labels]
    branches = [f"--head={request.branch}", f"--base={request.base}"]
    return _url(_run(["gh", "pr", "create", *repository, *branches, *text, *labels], folder), place)


def _with_glab(place: Place, request: Request, folder: Path) -> str:
    repository = ["--repo", f"https://{place.host}/{place.path}"]
    # No file: only later versions of glab read one. A text is far shorter than what a system takes for an argument.
    text = [f"--title={request.title}", f"--description={request.body}"]
    branch = f"--source-branch={request.branch}"
    listed = _run(["glab", "mr", "list", *repository, branch, "--output=json"], folder)
    there = [one for one in _entries(listed, "glab") if one.get("source_project_id") == one.get("target_project_id")]
    labels = [f"--label={label}" for label in request.labels]
    if there:
        number = _number(there[0].get("iid"), "glab")
        target = f"--target-branch={request.base}"
        _run(["glab", "mr", "update", number, *repository, *text, target, *labels], folder)
        return _url(str(there[0].get("web_url", "")), place)
    target = f"--target-branch={request.base}"
    return _url(_run(["glab", "mr", "create", *repository, branch, target, *text, *labels, "--yes"], folder), place)


def _run(command: Sequence[str], folder: Path) -> str:
    name = " ".join(command[:3])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_PROMPT": "1", "NO_COLOR": "1"}
    environment |= {"GIT_TERMINAL_PROMPT": "0", "GIT_CEILING_DIRECTORIES": str(folder.parent), "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RepositoryError("time limit", f"{name} took longer than {SECONDS:g} s") from error
    except OSError as error:
        raise RepositoryError("pull request failed", f"{command[0]} cannot be run: {error.strerror}") from error
    if done.returncode:
        told = [line for line in os.fsdecode(done.stderr).splitlines() if line.strip()]
        why = one_line(shown(told[0])) if told else f"exit code {done.returncode}"
        raise RepositoryError("pull request failed", f"{name}: {why[:_LONGEST_LINE]}")
    return done.stdout.decode("utf-8", "replace")


def _entries(text: str, program: str) -> list[dict[str, Any]]:
    try:
        entries = json.loads(text or "[]")
    except ValueError:
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise RepositoryError("pull request failed", f"{program} answered with something else than a list in JSON")
    return entries


def _number(value: object, program: str) -> str:
    if not isinstance(value, int):
        raise RepositoryError("pull request failed", f"{program} named no number")
    return str(value)


def _url(text: str, place: Place) -> str:
    """The last URL of the host in what a command printed."""
    found = [url for url in _URL.findall(text) if urlsplit(url).hostname == place.host]
    if not found:
        raise RepositoryError("pull request failed", f"{place.program} named no address of a pull request")
    return str(found[-1])[:_LONGEST_LINE]
