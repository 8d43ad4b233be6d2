"""Repositories of strangers: nothing that they hold or say is run, and nothing is written outside the run's folder."""

import http.server
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from devfix.batch.errors import RepositoryError
from devfix.batch.git.clones import checkout
from devfix.batch.git.process import Git, require_git
from devfix.errors import UsageError

from .git_repositories import committed, git, plan, repository

HOOKS = (
    *("post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"),
    *("pre-receive", "update", "post-receive", "post-update", "push-to-checkout", "pre-push", "fsmonitor-watchman"),
)
EVIL = "canary.txt"


class Canary:
    """A file that every trick would make, and the script that makes it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.file = folder / EVIL
        self.script = folder / "evil.sh"
        self.script.write_text(f"#!/bin/sh\necho \"$0\" >> '{self.file}'\ncat 2>/dev/null\n")
        self.script.chmod(0o755)

    def hooks(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            (folder / name).unlink(missing_ok=True)
            (folder / name).symlink_to(self.script)


@pytest.fixture
def canary(tmp_path: Path) -> Iterator[Canary]:
    canary = Canary(tmp_path / "aside")
    yield canary
    assert not canary.file.exists()
    assert {path.name for path in canary.file.parent.iterdir()} == {"evil.sh"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    committed(tmp_path / "source", {"train.py": b"old\n"})
    return tmp_path / "source"


def worked_on(run: Path, source: Path | str, git: Git | None = None) -> None:
    """All that is done with a repository but publishing it."""
    with checkout(plan(run), repository(source), git or Git()) as there:
        there.commit_files({"train.py": b"new\n"}, "devfix")
        assert there.diff()
        assert there.patch()


def hostile_settings(source: Path, canary: Canary) -> None:
    canary.hooks(source / ".git" / "hooks")
    script = str(canary.script)
    for name in ("core.fsmonitor", "core.sshCommand", "core.gitProxy", "core.askPass", "core.editor", "core.pager"):
        git(source, "config", name, script)
    for name in ("uploadpack.packObjectsHook", "core.alternateRefsCommand", "diff.external", "gpg.program"):
        git(source, "config", name, script)
    for name in ("clean", "smudge", "process"):
        git(source, "config", f"filter.evil.{name}", script)
    git(source, "config", "diff.evil.textconv", script)
    git(source, "config", "merge.evil.driver", script)
    git(source, "config", "remote.origin.url", f"ext::{script}")
    git(source, "config", "remote.origin.uploadpack", script)
    git(source, "config", "remote.origin.promisor", "true")
    git(source, "config", "protocol.allow", "always")


def test_the_settings_and_hooks_of_a_source_on_this_machine(tmp_path: Path, source: Path, canary: Canary) -> None:
    committed(source, {".gitattributes": b"* filter=evil diff=evil merge=evil\n"})
    other = tmp_path / "other"
    committed(other, {"x": b"x\n"})
    (source / ".git" / "objects" / "info" / "alternates").write_text(f"{other / '.git' / 'objects'}\n")
    hostile_settings(source, canary)
    worked_on(tmp_path / "run", source)


def test_hooks_and_settings_in_the_clone(tmp_path: Path, source: Path, canary: Canary) -> None:
    committed(source, {".gitattributes": b"* filter=evil diff=evil\n"})
    worked_on(tmp_path / "run", source)
    [clone] = (tmp_path / "run" / "clones").glob("*.git")
    canary.hooks(clone / "hooks")
    for name in ("core.fsmonitor", "filter.evil.smudge", "filter.evil.clean", "diff.external", "diff.evil.textconv"):
        git(clone, "config", name, str(canary.script))
    worked_on(tmp_path / "run", source)


def test_what_such_a_source_lacks_is_not_fetched_by_it(tmp_path: Path, source: Path, canary: Canary) -> None:
    blob = git(source, "rev-parse", "HEAD:train.py")
    hostile_settings(source, canary)
    (source / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(RepositoryError):
        worked_on(tmp_path / "run", source)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_source_may_belong_to_somebody_else(tmp_path: Path, source: Path) -> None:
    for place in [source, *source.rglob("*")]:
        os.chown(place, 65534, 65534)
    worked_on(tmp_path / "run", source)


def test_the_settings_of_the_user_do_not_count(
    tmp_path: Path, source: Path, canary: Canary, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    canary.hooks(home / "hooks")
    canary.hooks(home / "template" / "hooks")
    (home / ".gitconfig").write_text(f"""
        [core]
            hooksPath = {home / "hooks"}
            fsmonitor = {canary.script}
        [init]
            templateDir = {home / "template"}
        [diff]
            external = {canary.script}
            noprefix = true
        [url "file:///nowhere"]
            insteadOf = file://
    """)
    monkeypatch.setenv("HOME", str(home))
    for name in ("GIT_EXTERNAL_DIFF", "GIT_EDITOR", "GIT_PAGER", "GIT_ASKPASS", "GIT_SSH_COMMAND", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(canary.script))
    monkeypatch.setenv("GIT_DIR", str(source / ".git"))
    monkeypatch.setenv("GIT_TEMPLATE_DIR", str(home / "template"))
    with checkout(plan(tmp_path / "run"), repository(source), Git()) as there:
        there.commit_files({"train.py": b"new\n"}, "devfix")
        assert b"+++ b/train.py" in there.diff()
        assert b"From: devfix <devfix@localhost>" in there.patch()


def test_attributes_and_submodules_of_a_tree(tmp_path: Path, source: Path, canary: Canary) -> None:
    script = canary.script
    committed(
        source,
        {
            ".gitattributes": b"*.py filter=evil diff=evil merge=evil ident working-tree-encoding=UTF-16\n",
            ".gitmodules": (
                f'[submodule "a"]\n\tpath = a\n\turl = ext::{script}\n\tupdate = !{script}\n'
                f'[submodule "b"]\n\tpath = b\n\turl = {source}\n'
            ).encode(),
            ".gitconfig": f"[core]\n\tfsmonitor = {script}\n".encode(),
            "train.py": b"# $Id$\n",
        },
    )
    for name in ("a", "b"):
        git(source, "update-index", "--add", "--cacheinfo", f"160000,{git(source, 'rev-parse', 'HEAD')},{name}")
    git(source, "commit", "-q", "-m", "Submodules")
    with checkout(plan(tmp_path / "run"), repository(source), Git()) as there:
        assert (there.folder / "train.py").read_bytes() == b"# $Id$\n"
        assert list((there.folder / "b").iterdir()) == []
        there.commit_files({"train.py": b"# $Id$ new\n"}, "devfix")
        assert b"+# $Id$ new\n" in there.diff()


@pytest.mark.parametrize(
    "url",
    [
        "ext::{script}",
        "ext::sh -c {script}",
        "--upload-pack={script}",
        "ssh://-oProxyCommand={script}/x",
        "-oProxyCommand={script}:x",
        "fd::17",
        "file://{source} --upload-pack={script}",
        "{source}/.git;{script}",
        "evil://{script}",
    ],
)
def test_urls_that_are_commands(url: str, tmp_path: Path, source: Path, canary: Canary) -> None:
    with pytest.raises(RepositoryError):
        worked_on(tmp_path / "run", url.format(script=canary.script, source=source))


def test_a_repository_that_was_run_is_not_believed(tmp_path: Path, source: Path, canary: Canary) -> None:
    evil = tmp_path / "evil"
    committed(evil, {"train.py": b"evil\n"})
    hostile_settings(evil, canary)
    with checkout(plan(tmp_path / "run"), repository(source), Git()) as there:
        (there.folder / ".git").write_text(f"gitdir: {evil / '.git'}\n")
        (there.folder / ".gitattributes").write_text("* filter=evil diff=evil\n")
        made = there.commit_files({"train.py": b"new\n"}, "devfix")
        assert b"+new" in there.patch()
    assert git(evil, "log", "--format=%s") == "Work"
    [clone] = (tmp_path / "run" / "clones").glob("*.git")
    assert git(clone, "show", "--format=%s", "--name-only", made.sha).split() == ["devfix", "train.py"]


class Refusing(http.server.BaseHTTPRequestHandler):
    """Asks whoever comes for a password, and puts marks for the terminal into what it says."""

    def do_GET(self) -> None:
        self.send_response(401 if "private" in self.path else 404)
        self.send_header("WWW-Authenticate", 'Basic realm="\x1b]0;owned\x07"')
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.HTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "kind"), [("private.git", "authentication failed"), ("none.git", "repository not found")]
)
def test_no_password_is_asked_for_or_told(path: str, kind: str, server: str, tmp_path: Path) -> None:
    with pytest.raises(RepositoryError) as caught:
        worked_on(tmp_path / "run", f"http://me:s3cret@{server}/{path}")
    assert caught.value.kind == kind
    assert "s3cret" not in str(caught.value)
    assert str(caught.value).isprintable()


def test_no_network(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError) as caught:
        worked_on(tmp_path / "run", "http://127.0.0.1:9/x.git")
    assert caught.value.kind == "no network"


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    started = tmp_path / "started"
    settings = [("core.sshCommand", f"sleep 1000 & echo $! > {started}; wait #")]
    with pytest.raises(RepositoryError) as caught:
        worked_on(tmp_path / "run", "ssh://host/x", Git(settings, timeout=1.0))
    assert (caught.value.kind, str(caught.value)) == ("time limit", "git ls-remote took longer than 1 s")
    assert is_gone(int(started.read_text()))


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv of util-linux is not installed")
def test_git_does_not_outlive_a_killed_run(tmp_path: Path) -> None:
    started = tmp_path / "started"
    once = f"test -e {started} || {{ echo $PPID > {started}.new; mv {started}.new {started}; }}"  # git asks twice
    script = f"""
from pathlib import Path
from devfix.batch.git.process import Git
Git([("core.sshCommand", {f"{once}; cat #"!r})]).run("ls-remote", "ssh://host/x", folder=Path("{tmp_path}"))
"""
    with subprocess.Popen([sys.executable, "-c", script]) as process:
        while not started.exists():
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert is_gone(int(started.read_text()))


def is_gone(pid: int) -> bool:
    for _ in range(200):
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
        if not state or state.startswith("Z"):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("digits", [64, 12])
def test_a_commit_of_a_repository_with_other_names(tmp_path: Path, digits: int) -> None:
    source = tmp_path / "source"
    source.mkdir()
    git(source, "init", "-q", "--object-format=sha256")
    commit = committed(source, {"train.py": b"old\n"})
    with checkout(plan(tmp_path / "run"), repository(source, revision=commit[:digits]), Git()) as there:
        assert (there.folder / "train.py").read_bytes() == b"old\n"


def test_the_settings_of_the_run_win(tmp_path: Path, source: Path) -> None:
    settings = [("url.file:///.insteadOf", "https://example.org/"), ("user.name", "Me"), ("user.email", "me@home")]
    settings.append(("core.symlinks", "true"))
    committed(source, {"link": "/etc/passwd"})
    with checkout(
        plan(tmp_path / "run", git_config=tuple(settings)), repository(f"https://example.org{source}"), Git(settings)
    ) as there:
        there.commit_files({"train.py": b"new\n"}, "devfix")
        assert b"From: Me <me@home>" in there.patch()
        assert not (there.folder / "link").is_symlink()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (None, "git is not installed; a batch needs git 2.32 or newer"),
        ("echo git version 2.31.9", "git version 2.31.9; a batch needs git 2.32 or newer"),
        ("exit 1", "git does not say its version; a batch needs git 2.32 or newer"),
    ],
)
def test_the_git_that_there_is(script: str | None, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_git()
    if script is not None:
        (tmp_path / "git").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        require_git()
    assert str(caught.value) == told
