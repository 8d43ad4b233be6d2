"""Publishing to bare repositories on this machine, and through commands that stand in for `gh` and `glab`."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from devfix.batch.choices import Existing, Publish
from devfix.batch.errors import BranchTakenError, RepositoryError
from devfix.batch.git.clones import checkout
from devfix.batch.git.process import Git
from devfix.batch.publishing.hosts import Place, place_of
from devfix.batch.publishing.publish import publish, require_publisher
from devfix.batch.records import Plan, Repository
from devfix.errors import UsageError
from msgspec.structs import replace

from .git_repositories import BRANCH, bare, committed, git, plan, repository

STAND_IN = """#!{python}
import json, pathlib, sys

folder = pathlib.Path({folder!r})
name, *arguments = pathlib.Path(sys.argv[0]).name, *sys.argv[1:]
body = next((word.split("=", 1)[1] for word in arguments if word.startswith("--body-file=")), None)
call = {{"arguments": arguments, "cwd": str(pathlib.Path.cwd()), "body": body and pathlib.Path(body).read_text()}}
with (folder / "calls").open("a") as calls:
    print(json.dumps(call), file=calls)
answer = folder / "-".join([name, *arguments[:2]])
if answer.exists():
    print(answer.read_text(), end="")
if (folder / "fails").exists() and (folder / "fails").read_text() in " ".join(arguments):
    sys.exit("no: \\x1b https://me:s3cret@github.com/o/p\\nusage: ...")
"""


class Hosts:
    """The stand-ins, what they answer and what they were asked."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.answer("gh pr create", "Warning: one\nhttps://github.com/o/p/pull/7\n")
        self.answer("gh pr list", "[]")
        self.answer("glab mr create", "!7 devfix\n https://gitlab.com/g/s/p/-/merge_requests/7\n")
        self.answer("glab mr list", "[]")

    def install(self, *names: str) -> None:
        for name in names:
            file = self.folder / "bin" / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(STAND_IN.format(python=sys.executable, folder=str(self.folder)))
            file.chmod(0o755)

    def answer(self, command: str, text: str) -> None:
        (self.folder / command.replace(" ", "-")).write_text(text)

    def fail(self, words: str) -> None:
        (self.folder / "fails").write_text(words)

    @property
    def calls(self) -> list[dict[str, Any]]:
        file = self.folder / "calls"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def asked(self, *words: str) -> list[list[str]]:
        return [call["arguments"] for call in self.calls if call["arguments"][: len(words)] == list(words)]


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    hosts = Hosts(tmp_path / "hosts")
    monkeypatch.setenv("PATH", f"{hosts.folder / 'bin'}:/usr/local/bin:/usr/bin:/bin")
    for name in ("GH_HOST", "GITLAB_HOST", "GL_HOST"):
        monkeypatch.delenv(name, raising=False)
    return hosts


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    committed(tmp_path / "source", {"train.py": b"old\n"})
    return bare(tmp_path / "remote.git", tmp_path / "source")


def hosted(tmp_path: Path, url: str, **fields: Any) -> tuple[Plan, Repository]:
    """A repository with a URL on a host, that git finds on this machine."""
    settings = ((f"url.file://{tmp_path}/remote.git.insteadOf", url),)
    return plan(tmp_path / "run", publish=Publish.PR, git_config=settings), repository(url, **fields)


def published(plan: Plan, repository: Repository, text: bytes = b"new\n") -> str | None:
    with checkout(plan, repository, Git(plan.git_config)) as there:
        there.commit_files({"train.py": text}, "devfix")
        return publish(there, plan, repository, "A title", "The *body*\n")


def tip(remote: Path, branch: str = BRANCH) -> str:
    return git(remote, "rev-parse", f"refs/heads/{branch}")


@pytest.mark.parametrize("how", [Publish.NONE, Publish.PATCH])
def test_nothing_is_pushed_that_was_not_asked_for(how: Publish, remote: Path, tmp_path: Path) -> None:
    assert published(plan(tmp_path / "run", publish=how), repository(remote)) is None
    assert git(remote, "branch", "--format=%(refname:short)") == "main"


def test_no_commits_are_not_pushed(remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    asked, wanted = hosted(tmp_path, "https://github.com/o/p")
    with checkout(asked, wanted, Git(asked.git_config)) as there:
        assert publish(there, asked, wanted, "", "") is None
    assert git(remote, "branch", "--format=%(refname:short)") == "main"
    assert hosts.calls == []


def test_hooks_and_settings_of_a_source_are_not_run_by_a_push(remote: Path, tmp_path: Path) -> None:
    canary, script = tmp_path / "canary", tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch '{canary}'\n")
    script.chmod(0o755)
    for name in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        (remote / "hooks").mkdir(exist_ok=True)
        (remote / "hooks" / name).symlink_to(script)
    (remote / "objects" / "info" / "alternates").write_text(f"{tmp_path / 'source' / '.git' / 'objects'}\n")
    for name in ("core.alternateRefsCommand", "core.fsmonitor", "core.sshCommand", "core.hooksPath"):
        git(remote, "config", name, str(tmp_path / "hooks" if name == "core.hooksPath" else script))
    (remote / "hooks").rename(tmp_path / "hooks")
    assert published(plan(tmp_path / "run", publish=Publish.PUSH), repository(remote)) == BRANCH
    assert tip(remote)
    assert not canary.exists()


def test_a_branch_of_others_is_left_alone(remote: Path, tmp_path: Path) -> None:
    git(remote, "branch", BRANCH, "main")
    before = tip(remote)
    with pytest.raises(BranchTakenError) as caught:
        published(plan(tmp_path / "run", publish=Publish.PUSH), repository(remote))
    assert str(caught.value) == f"{remote} has the branch {BRANCH} already"
    assert tip(remote) == before
    assert list((tmp_path / "run" / "work").glob("*")) == []


def test_a_branch_of_others_is_replaced_where_that_is_asked_for(remote: Path, tmp_path: Path) -> None:
    git(remote, "branch", BRANCH, "main")
    asked = plan(tmp_path / "run", publish=Publish.PUSH, existing=Existing.REPLACE)
    assert published(asked, repository(remote)) == BRANCH
    assert git(remote, "show", f"{BRANCH}:train.py") == "new"


def test_a_branch_of_another_run_is_one_of_others(remote: Path, tmp_path: Path) -> None:
    asked = plan(tmp_path / "run", publish=Publish.PUSH)
    published(asked, repository(remote))
    with pytest.raises(BranchTakenError):
        published(replace(asked, date="2026-11-21T10:00:00+01:00"), repository(remote))
    with pytest.raises(BranchTakenError):
        published(asked, repository(remote, name="other"))


def test_a_commit_that_somebody_amended_is_one_of_others(remote: Path, tmp_path: Path) -> None:
    asked = plan(tmp_path / "run", publish=Publish.PUSH)
    published(asked, repository(remote))
    work = tmp_path / "theirs"
    git(tmp_path, "clone", "-q", "--branch", BRANCH, str(remote), str(work))
    git(work, "commit", "-q", "--amend", "--no-edit")
    git(work, "push", "-q", "--force", "origin", BRANCH)
    before = tip(remote)
    with pytest.raises(BranchTakenError):
        published(asked, repository(remote))
    assert tip(remote) == before


def test_what_a_run_pushed_before_it_was_cut_short_is_its_own(remote: Path, tmp_path: Path) -> None:
    asked = plan(tmp_path / "run", publish=Publish.PUSH)
    published(asked, repository(remote))
    before = tip(remote)
    assert published(asked, repository(remote)) == BRANCH
    assert tip(remote) == before
    assert published(asked, repository(remote), b"another\n") == BRANCH
    assert git(remote, "show", f"{BRANCH}:train.py") == "another"


def test_a_branch_that_appears_meanwhile_is_left_alone(remote: Path, tmp_path: Path) -> None:
    asked = plan(tmp_path / "run", publish=Publish.PUSH)
    with checkout(asked, repository(remote), Git()) as there:
        there.commit_files({"train.py": b"new\n"}, "devfix")
        git(remote, "branch", BRANCH, "main")
        with pytest.raises(RepositoryError) as caught:
            publish(there, asked, repository(remote), "", "")
    assert caught.value.kind == "branch moved"
    assert tip(remote) == tip(remote, "main")


def test_a_push_that_the_source_refuses(remote: Path, tmp_path: Path) -> None:
    git(remote, "branch", BRANCH.partition("/")[0], "main")
    with pytest.raises(RepositoryError) as caught:
        published(plan(tmp_path / "run", publish=Publish.PUSH), repository(remote))
    assert caught.value.kind == "push refused"


def test_a_pull_request(remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    hosts.install("gh")
    asked, wanted = hosted(tmp_path, "https://me:s3cret@github.com/o/p.git", labels=("bot", "-x y"))
    assert published(asked, wanted) == "https://github.com/o/p/pull/7"
    assert git(remote, "show", f"{BRANCH}:train.py") == "new"
    [created] = hosts.asked("pr", "create")
    assert created[-2:] == ["--label=bot", "--label=-x y"]
    assert created[:6] == ["pr", "create", "--repo", "github.com/o/p", f"--head={BRANCH}", "--base=main"]
    assert "--title=A title" in created
    assert hosts.calls[-1]["body"] == "The *body*\n"
    work = tmp_path / "run" / "work" / "project"
    for call in hosts.calls:
        assert Path(call["cwd"]).is_relative_to(work)
        assert not Path(call["cwd"]).is_relative_to(work / "tree")


def test_an_open_pull_request_is_brought_up_to_date(remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    hosts.install("gh")
    entries = [
        {"number": 3, "url": "https://github.com/o/p/pull/3", "isCrossRepository": True},
        {"number": 5, "url": "https://github.com/o/p/pull/5", "isCrossRepository": False},
    ]
    hosts.answer("gh pr list", json.dumps(entries))
    asked, wanted = hosted(tmp_path, "git@github.com:o/p.git", labels=("bot",))
    assert published(asked, wanted) == "https://github.com/o/p/pull/5"
    assert hosts.asked("pr", "create") == []
    [edited] = hosts.asked("pr", "edit")
    assert edited[:5] == ["pr", "edit", "5", "--repo", "github.com/o/p"]
    assert "--add-label=bot" in edited


def test_a_merge_request(remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    hosts.install("glab")
    asked, wanted = hosted(tmp_path, "https://gitlab.com/g/s/p", labels=("bot",))
    assert published(asked, wanted) == "https://gitlab.com/g/s/p/-/merge_requests/7"
    [created] = hosts.asked("mr", "create")
    assert created[2:] == [
        *("--repo", "https://gitlab.com/g/s/p", f"--source-branch={BRANCH}", "--target-branch=main"),
        *("--title=A title", "--description=The *body*\n", "--label=bot", "--yes"),
    ]
    entry = {"iid": 9, "web_url": "https://gitlab.com/g/s/p/-/merge_requests/9"}
    hosts.answer("glab mr list", json.dumps([entry | {"source_project_id": 1, "target_project_id": 1}]))
    assert published(asked, wanted) == "https://gitlab.com/g/s/p/-/merge_requests/9"
    assert hosts.asked("mr", "update")[0][:3] == ["mr", "update", "9"]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "created!\n",
        "https://evil.example/o/p/pull/1\n",
        "https://github.com.evil.example/x\n",
        "http://github.com/x\n",
    ],
)
def test_what_a_command_prints_is_not_believed(answer: str, remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    hosts.install("gh")
    hosts.answer("gh pr create", answer)
    with pytest.raises(RepositoryError) as caught:
        published(*hosted(tmp_path, "https://github.com/o/p"))
    assert str(caught.value) == "gh named no address of a pull request"


@pytest.mark.parametrize("answer", ["{", "{}", "[1]", '[{"number": "1; rm", "url": "https://github.com/o/p/1"}]'])
def test_nor_what_it_lists(answer: str, remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    hosts.install("gh")
    hosts.answer("gh pr list", answer)
    with pytest.raises(RepositoryError) as caught:
        published(*hosted(tmp_path, "https://github.com/o/p"))
    assert caught.value.kind == "pull request failed"


def test_a_command_that_fails_says_why(remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    hosts.install("gh")
    hosts.fail("pr create")
    with pytest.raises(RepositoryError) as caught:
        published(*hosted(tmp_path, "https://github.com/o/p"))
    assert caught.value.kind == "pull request failed"
    assert str(caught.value) == "gh pr create: no: \N{REPLACEMENT CHARACTER} https://***@github.com/o/p"


def test_a_revision_that_is_no_branch_has_no_pull_request(remote: Path, tmp_path: Path, hosts: Hosts) -> None:
    git(remote, "tag", "v1", "main")
    with pytest.raises(RepositoryError) as caught:
        published(*hosted(tmp_path, "https://github.com/o/p", revision="v1"))
    assert str(caught.value) == "the revision 'v1' is no branch; name one, or use --publish push"
    assert git(remote, "branch", "--format=%(refname:short)") == "main"


@pytest.mark.parametrize(
    ("source", "place", "program"),
    [
        ("https://github.com/o/p.git", Place("github.com", "o/p"), "gh"),
        ("https://me:pw@GitHub.com/o/p/", Place("github.com", "o/p"), "gh"),
        ("ssh://git@github.example:22/o/p", Place("github.example", "o/p"), "gh"),
        ("git@gitlab.com:g/s/p.git", Place("gitlab.com", "g/s/p"), "glab"),
        ("https://gitlab.example.org/g/p", Place("gitlab.example.org", "g/p"), "glab"),
        ("https://code.example.org/g/p", Place("code.example.org", "g/p"), "glab"),
        ("/srv/p.git", None, ""),
        ("file:///srv/p.git", None, ""),
        ("https://github.com/p", None, ""),
        ("https://github.com/o/p%20--web", None, ""),
    ],
)
def test_where_a_source_is(source: str, place: Place | None, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITLAB_HOST", "code.example.org")
    assert place_of(source) == place
    assert place is None or place.program == program


@pytest.mark.parametrize("named", ["https://code.example.org", "https://Code.example.org:80/", "code.example.org:80"])
@pytest.mark.parametrize("variable", ["GITLAB_HOST", "GL_HOST"])
def test_glabs_host_may_be_a_url(variable: str, named: str, hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, named)
    assert Place("code.example.org", "g/p").program == "glab"
    monkeypatch.setenv(variable, "https://[")
    assert Place("code.example.org", "g/p").program == "gh"


def test_commands_are_looked_for_before_anything_is_done(tmp_path: Path, hosts: Hosts) -> None:
    wanted = [
        repository("/srv/x", name="x"),
        repository("https://github.com/o/p", name="p"),
        repository("https://gitlab.com/o/p", name="q"),
        repository("https://github.example/o/p", name="r"),
    ]
    asked = plan(tmp_path / "run", publish=Publish.PR)
    require_publisher(replace(asked, publish=Publish.PUSH), wanted)
    hosts.install("gh")
    hosts.fail("--hostname github.example")
    with pytest.raises(UsageError) as caught:
        require_publisher(asked, wanted)
    assert str(caught.value) == "pull requests cannot be opened everywhere; --publish push needs no host"
    assert caught.value.details == (
        "x: its source is on no host",
        "github.example: gh auth status: no: \N{REPLACEMENT CHARACTER} https://***@github.com/o/p (gh auth login)",
        "gitlab.com: glab is not installed (https://gitlab.com/gitlab-org/cli)",
    )
    require_publisher(asked, wanted[1:2])
