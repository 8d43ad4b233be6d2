"""Manifests in TOML: `[[repo]]` tables, `[defaults]` for them, and what holds for the whole run."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from devfix.batch.choices import Commits, Existing, Publish
from devfix.batch.manifest import places, values
from devfix.batch.manifest.mistakes import Mistakes, Place, RefusedError
from devfix.batch.manifest.repositories import Wanted, derived_name, name_fault
from devfix.batch.manifest.values import Reader
from devfix.batch.records import Repository, Rules
from devfix.project.bounds import LEAST_MEMORY, LEAST_TIMEOUT, MOST_DEVICES, MOST_SEED

Table = dict[str, Any]

_BOM = "\N{ZERO WIDTH NO-BREAK SPACE}"
_AT_LINE = re.compile(r"(?P<what>.*) \(at (?:line (?P<line>\d+), column \d+|end of document)\)", re.DOTALL)
_GIT_KEY = re.compile(r"[A-Za-z0-9-]+(\..+)?\.[A-Za-z][A-Za-z0-9-]*")
_MOST_PROCESSES = 1 << 22
"""What Linux numbers: https://man7.org/linux/man-pages/man5/proc_sys_kernel.5.html, pid_max."""
_MOST_STEPS = 1 << 31
_RULES = {field.name for field in msgspec.structs.fields(Rules)}
_OWN = ("url", "path", "name")
"""Keys that are for one repository alone."""


def parse(data: bytes, mistakes: Mistakes) -> Table:
    """The document, whose lines `mistakes` knows from now on.

    Raises:
        UsageError: it is no TOML.
    """
    text = ""
    try:
        text = mistakes.text = data.decode().removeprefix(_BOM)
        document = tomllib.loads(text)
    except UnicodeDecodeError as error:
        mistakes.note(data.count(b"\n", 0, error.start) + 1, "not UTF-8, as TOML must be")
    except RecursionError:
        mistakes.note(None, "not valid TOML: nested too deeply")
    except ValueError as error:
        line, what = _syntax_error(str(error), text)
        mistakes.note(line, f"not valid TOML: {what}")
    mistakes.tell()
    return document


def run_choices(document: Table, place: Place) -> Table:
    """What the document says for the whole run: `publish`, `existing`, `commits`, and `git_config`."""
    keys: dict[str, Reader] = {
        "publish": values.one_of(Publish),
        "existing": values.one_of(Existing),
        "commits": values.one_of(Commits),
        "git": partial(values.table, known={"config": _git_config}),
        "defaults": lambda value, _: value,
        "repo": lambda value, _: value,
    }
    said = values.table(document, place, keys)
    return {key: said[key] for key in ("publish", "existing", "commits") if key in said} | {
        "git_config": tuple(said.get("git", {}).get("config", ()))
    }


def repositories(document: Table, place: Place, folder: Path, base: Repository) -> Iterator[Wanted]:
    """The `[[repo]]` tables. Paths are relative to `folder`; what neither they nor `[defaults]` say is as in `base`."""
    tables = document.get("repo", [])
    defaults = _defaults(
        document.get("defaults", {}), replace(place.at("defaults"), owner="[defaults]", key=""), folder
    )
    if not isinstance(tables, list):
        place.at("repo").note("must be tables; write [[repo]], with two brackets, above each repository")
        return
    keys = _keys(folder)
    for number, table in enumerate(tables):
        here = Place(place.mistakes, ("repo", number), _owner(table, number))
        said = values.table(table, here, keys)
        yield Wanted(here, _fields(_over(said, defaults), base) | _source(table, said, here), said.get("name"))


def _syntax_error(message: str, text: str) -> tuple[int | None, str]:
    """The line and the rest of what `tomllib` says; it speaks of the end of the document where it means a line."""
    found = _AT_LINE.fullmatch(message)
    if found is None:
        return None, message
    return int(found["line"] or len(text.splitlines())), found["what"]


def _keys(folder: Path) -> dict[str, Reader]:
    return {
        "url": places.url(folder),
        "path": places.path(folder),
        "name": _name,
        "revision": places.revision,
        "subfolder": places.subfolder,
        "select": values.selectors,
        "ignore": values.selectors,
        "unsafe": values.flag,
        "suggestions": values.flag,
        "min-confidence": values.confidence,
        "target-torch": values.torch_version,
        "setup": values.text,
        "setup-network": values.flag,
        "checks": values.one_or_more,
        "labels": values.strings,
        "timeout": values.seconds(1),
        "replay": partial(values.table, known=_replay_keys(folder)),
    }


def _replay_keys(folder: Path) -> dict[str, Reader]:
    return {
        "command": values.replay_command,
        "tests": values.flag,
        "on": values.backend,
        "devices": values.whole(1, MOST_DEVICES),
        "steps": values.whole(1, _MOST_STEPS),
        "seed": values.whole(0, MOST_SEED),
        "timeout": values.seconds(LEAST_TIMEOUT),
        "memory": values.size(LEAST_MEMORY, "import torch"),
        "processes": values.whole(1, _MOST_PROCESSES),
        "disk": values.size(1 << 20),
        "network": values.flag,
        "env": values.variables,
        "python": places.interpreter(folder),
    }


def _defaults(value: Any, place: Place, folder: Path) -> Table:
    return values.table(value, place, _keys(folder) | dict.fromkeys(_OWN, _for_one))


def _for_one(_: Any, place: Place) -> NoReturn:
    place.refuse("is for one repository; write it under [[repo]]")


def _over(said: Table, defaults: Table) -> Table:
    """What a repository says over what holds for all: tables key by key."""
    merged = defaults | said
    for key in ("replay", "env"):
        if isinstance(said.get(key), dict) and isinstance(defaults.get(key), dict):
            merged[key] = _over(said[key], defaults[key])
    return merged


def _fields(said: Table, base: Repository) -> Table:
    """What was said, as fields of the record."""
    named = {key.replace("-", "_"): value for key, value in said.items() if key not in _OWN}
    replay = {**named.pop("replay", {})}
    if "env" in replay:
        replay["env"] = tuple((dict(base.replay.env) | replay["env"]).items())
    rules = {key: named.pop(key) for key in _RULES & named.keys()}
    return named | {
        "rules": msgspec.structs.replace(base.rules, **rules),
        "replay": msgspec.structs.replace(base.replay, **replay),
    }


def _source(table: Any, said: Table, place: Place) -> Table:
    named = [key for key in ("url", "path") if isinstance(table, dict) and key in table]
    if len(named) != 1:
        place.note("names both url and path; which one?" if named else "names neither url nor path")
    found = next((said[key] for key in named if key in said), None)
    return {} if found is None else {"source": found}


def _owner(table: Any, number: int) -> str:
    said: Mapping[str, Any] = table if isinstance(table, dict) else {}
    source = next((said[key] for key in ("url", "path") if isinstance(said.get(key), str)), None)
    name = said.get("name") or (source and derived_name(source))
    return f'repo "{name}"' if isinstance(name, str) else f"repo {number + 1}"


def _name(value: Any, place: Place) -> str:
    name = values.text(value, place)
    fault = name_fault(name)
    return name if fault is None else place.refuse(f"{name!r} {fault}")


def _git_config(value: Any, place: Place) -> list[tuple[str, str]]:
    """Settings of git. A key such as `credential.helper` is quoted, or its parts are tables."""
    found: list[tuple[str, str]] = []
    _flatten(values.any_table(value, place), place, "", found)
    return found


def _flatten(table: Table, place: Place, prefix: str, found: list[tuple[str, str]]) -> None:
    for key, value in table.items():
        if isinstance(value, dict):
            _flatten(value, place.at(key), f"{prefix}{key}.", found)
            continue
        with suppress(RefusedError):
            if values.control_in(key) or not _GIT_KEY.fullmatch(prefix + key):
                place.at(key).refuse("is no setting of git; write it like credential.helper")
            found.append((prefix + key, "" if value == "" else values.text(value, place.at(key))))
