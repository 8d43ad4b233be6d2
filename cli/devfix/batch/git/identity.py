"""Who makes a batch's commits, where they go, and how they are told from those of others."""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from devfix.batch.records import Plan, Repository

TRAILER = "Devfix-Run"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+|\.\.+|\.lock$|\.$")
_DIGITS = 8


def branch_of(plan: Plan, repository: Repository) -> str:
    """The branch of a repository: the run's, with `@revision` and `+subfolder` where the manifest names them.

    Two entries of one source differ in one of these, so no two have the same branch.
    """
    parts = (("@", repository.revision or ""), ("+", repository.subfolder))
    return plan.branch + "".join(sign + _as_name(text) for sign, text in parts if text)


def _as_name(text: str) -> str:
    name = _NOT_IN_NAMES.sub("-", text)
    return name if name == text else f"{name}-{digest(text)[:_DIGITS]}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]


@dataclass(frozen=True)
class Identity:
    """`person` and `date` are as git stores them; `run` marks every commit of one repository in one run."""

    person: str
    date: str
    run: str

    @property
    def signature(self) -> str:
        return f"{self.person} {self.date}"

    def is_author_of(self, commit: bytes) -> bool:
        """Whether a commit, as git stores it, was made by this run and by nobody changed since."""
        head, _, message = commit.partition(b"\n\n")
        is_signed = f"committer {self.signature}".encode() in head.split(b"\n")
        return is_signed and message.rstrip().split(b"\n")[-1] == f"{TRAILER}: {self.run}".encode()


def identity_of(plan: Plan, repository: Repository) -> Identity:
    """The user that the plan's settings of git name, else devfix, at the plan's date."""
    told = {name.lower(): value for name, value in plan.git_config}
    person = f"{_plain(told.get('user.name', 'devfix'))} <{_plain(told.get('user.email', 'devfix@localhost'))}>"
    when = datetime.fromisoformat(plan.date)
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    place = (repository.name, repository.source, repository.revision, repository.subfolder)
    run = digest(msgspec.json.encode((plan.branch, plan.date, place)).decode())
    return Identity(person, f"{int(when.timestamp())} {when:%z}", run)


def _plain(text: str) -> str:
    """Without what ends a name or an address in git's own format."""
    return re.sub(r"[<>\x00-\x1f]", "", text).strip()
