"""Bringing a repository's commits to where others see them."""

from collections.abc import Iterable
from pathlib import Path

from devfix.batch.choices import Publish
from devfix.batch.errors import RepositoryError
from devfix.batch.git.sources import shown
from devfix.batch.git.worktrees import Checkout
from devfix.batch.publishing.hosts import Request, is_ready, open_request, place_of
from devfix.batch.records import Plan, Repository
from devfix.errors import UsageError
from devfix.reporting.terminal import visible

_MOST_NAMED = 20


def publish(checkout: Checkout, plan: Plan, repository: Repository, title: str, body: str) -> str | None:
    """Push the branch, and open a pull request with this text or bring its own up to date, as the plan says.

    Returns the name of the branch, or the URL of the pull request; None where nothing is published or was committed.

    Raises:
        RepositoryError: the source or its host refuses.
    """
    if plan.publish not in (Publish.PUSH, Publish.PR) or checkout.head == checkout.commit:
        return None
    place = place_of(repository.source)
    if plan.publish is Publish.PR and (place is None or checkout.base is None):
        raise RepositoryError("no pull request", _why_none(repository, checkout.base))
    checkout.push()
    if plan.publish is Publish.PUSH or place is None or checkout.base is None:
        return checkout.branch
    request = Request(checkout.branch, checkout.base, title, body, repository.labels)
    return open_request(place, request, checkout.scratch)


def require_publisher(plan: Plan, repositories: Iterable[Repository]) -> None:
    """See that every host that pull requests go to has its command, and that it is logged in there.

    Raises:
        UsageError: one has not, or a source is on no host. All are named.
    """
    if plan.publish is not Publish.PR:
        return
    places = {repository.name: place_of(repository.source) for repository in repositories}
    told = [f"{name}: its source is on no host" for name, place in places.items() if place is None]
    first = {place.host: place for place in places.values() if place is not None}
    for host, place in sorted(first.items()):
        why = is_ready(place, Path("/"))
        told += [] if why is None else [f"{visible(host)}: {why}"]
    if told:
        more = [f"... and {len(told) - _MOST_NAMED} more"] if len(told) > _MOST_NAMED else []
        raise UsageError(
            "pull requests cannot be opened everywhere; --publish push needs no host", [*told[:_MOST_NAMED], *more]
        )


def _why_none(repository: Repository, base: str | None) -> str:
    if base is None:
        return f"the revision {repository.revision or 'HEAD'!r} is no branch; name one, or use --publish push"
    return f"{shown(repository.source)} is on no host; use --publish push"
