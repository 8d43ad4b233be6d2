"""Where repositories come from: URLs and folders, what git is never asked for, and how a source is shown."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

TRANSPORTS = ("https", "http", "ssh", "git", "file")
_SCHEME = re.compile(r"([A-Za-z0-9+.-]+)://")
_HELPER = re.compile(r"([A-Za-z0-9+.-]*)::")
_SCP_LIKE = re.compile(r"[\w.][\w.+-]*@(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*):(?P<path>.*)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MASK = "***"
_MASKS = (
    # All before the host's @; after `https://user:` that is no port, a password may even hold slashes.
    (re.compile(r"(https?://)(?:[^/\s:]*:(?!\d*(?:[/\s]|$))\S*@|[^/\s]*@)", re.IGNORECASE), rf"\1{_MASK}@"),
    (re.compile(r"(https?://[^\s?#'\"]*\?)[^\s#'\"]+", re.IGNORECASE), rf"\1{_MASK}"),
    (re.compile(r"((?!https?:)\b[a-z][a-z0-9+.-]*://[^/\s:@]*):[^/\s]*@", re.IGNORECASE), rf"\1:{_MASK}@"),
)


def shown(text: str) -> str:
    """`text`, a source or a message with sources in it, without the credentials that its URLs carry."""
    for pattern, instead in _MASKS:
        text = pattern.sub(instead, text)
    return text


def is_url(source: str) -> bool:
    """Whether git would take `source` for a URL or an address, as far as it is not the path of a folder."""
    return any(pattern.match(source) for pattern in (_SCHEME, _HELPER, _SCP_LIKE))


def url_fault(url: str) -> str | None:
    """What keeps git from being asked for `url`, in words, or None.

    Helpers (`ext::`, `fd::`) run commands, and what begins with `-` is taken for an option, by ssh as well:
    https://git-scm.com/docs/git-remote-ext, CVE-2017-1000117.
    """
    if url.startswith("-"):
        return "begins with '-'"
    if scp_like := _SCP_LIKE.fullmatch(url):
        return _path_fault(scp_like["path"])
    found = _SCHEME.match(url) or _HELPER.match(url)
    if found is None:
        return "is no URL"
    if found[1] not in TRANSPORTS or not url.startswith("//", found.end(1) + 1):
        return f"uses the transport {found[1]!r}; only {', '.join(TRANSPORTS)} and user@host:path are allowed"
    return _parts_fault(url)


def revision_fault(revision: str) -> str | None:
    """What keeps `revision` from being the name of a branch or tag, or a commit, in words, or None.

    The rules are those of https://git-scm.com/docs/git-check-ref-format.
    """
    return next(_revision_faults(revision), None)


def is_repository(folder: Path) -> bool:
    """Whether `folder` is a checkout or a bare repository. Nothing in it is run or read."""
    try:
        if (folder / ".git").exists():
            return True
        return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    except OSError:
        return False


def same_place(source: str) -> str:
    """What two spellings of one source have in common: credentials, `.git` and a last slash do not tell URLs apart.

    Folders are told with links resolved: `lib` and `lib.git` are two.
    """
    if not is_url(source):
        return source
    return shown(source).replace(f"{_MASK}@", "").rstrip("/").removesuffix(".git").rstrip("/")


def _parts_fault(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "has a host or port that cannot be read"
    if parts.scheme == "file":
        return _path_fault(parts.path)
    if not host:
        return "names no host"
    if any(part.startswith("-") for part in (host, parts.username or "")):
        return "has a host or user that begins with '-'"
    if any(letter.isspace() for letter in url):
        return "holds a blank; write %20"
    return _path_fault(parts.path.strip("/"))


def _path_fault(path: str) -> str | None:
    if not path:
        return "names no repository"
    return "has a path that begins with '-'" if path.startswith("-") else None


def _revision_faults(revision: str) -> Iterator[str]:
    parts = revision.split("/")
    if not revision:
        yield "is empty"
    if revision.startswith("-"):
        yield "begins with '-'"
    if revision == "@":
        yield "is no name; leave it out for what HEAD is"
    if control := _CONTROL.search(revision):
        yield f"holds {control[0]!r}, which no branch, tag or commit can"
    for wrong in ("..", "@{", " ", "~", "^", ":", "?", "*", "[", "\\"):
        if wrong in revision:
            yield f"holds {wrong!r}, which no branch, tag or commit can"
    if "" in parts:
        yield "has a '/' at an end, or two in a row"
    if any(part.startswith(".") for part in parts):
        yield "has a part that begins with '.'"
    if revision.endswith(".") or any(part.endswith(".lock") for part in parts):
        yield "ends a part with '.lock', or as a whole with '.'"
