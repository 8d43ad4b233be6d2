"""What the user asked for: `[tool.devfix]` of the nearest `pyproject.toml`, then the command line over it.

Each file belongs to the closest `pyproject.toml` up its tree that has the table; tables are not merged.
"""

import math
import os
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from devfix_codemods.preferences import Prefer

from devfix.errors import UsageError, close_match
from devfix.project.bounds import LEAST_MEMORY, LEAST_TIMEOUT, MOST_DEVICES, MOST_SEED
from devfix.project.requirements.declarations import Declared, Version, declared_torch, implied_torch

_PYPROJECT = "pyproject.toml"
_SIZE = re.compile(r"(\d{1,99})\s*(|B|KB|KiB|MB|MiB|GB|GiB)")
_UNITS = {"": 1, "B": 1, "KB": 1000, "KiB": 1024, "MB": 1000**2, "MiB": 1024**2, "GB": 1000**3, "GiB": 1024**3}
_VERSION = re.compile(r"(\d{1,99})\.(\d{1,99})")
"""Python reads no number of thousands of digits."""
_REPLAY_BOUNDS: tuple[tuple[str, float, float], ...] = (
    ("devices", 1, MOST_DEVICES),
    ("steps", 1, math.inf),
    ("seed", 0, MOST_SEED),
    ("timeout", LEAST_TIMEOUT, math.inf),
)


class _ReplayTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    on: str | None = None
    devices: int | None = None
    steps: int | None = None
    seed: int | None = None
    timeout: float | None = None
    memory: int | str | None = None
    output_limit: int | str | None = None
    copy_limit: int | str | None = None


class _Table(msgspec.Struct, forbid_unknown_fields=True, rename="kebab"):
    select: list[str] | None = None
    ignore: list[str] = []
    unsafe: bool = False
    suggestions: bool = False
    min_confidence: float = 0.0
    target_torch: str | None = None
    prefer: Prefer | None = None
    exclude: list[str] | None = None
    extend_exclude: list[str] = []
    max_file_size: int | str = "1MiB"
    respect_gitignore: bool = True
    per_file_ignores: dict[str, list[str]] = {}
    jobs: int | None = None
    baseline: str | None = None
    replay: _ReplayTable = _ReplayTable()


@dataclass(frozen=True)
class Choice:
    """Which rules run on a file and what may be applied: all of the settings that can change an outcome.

    `select` and `ignore` are as the user wrote them: codes, prefixes of codes, names. `origin` is where, for messages.
    `declared_by` is the file that `target_torch` was read from, where nobody chose it.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    target_torch: Version | None = None
    prefer: Prefer = Prefer.CUDA
    guards: bool = False
    declared_by: str | None = None
    suggestions: bool = False
    min_confidence: float = 0.0
    origin: str = field(default="", compare=False, repr=False)


@dataclass(frozen=True)
class ReplaySettings:
    """How to replay; None where nothing is said. Sizes are in bytes.

    What to run, and with which interpreter, is for the command line alone: it must not come with somebody's project.
    """

    on: str | None = None
    devices: int | None = None
    steps: int | None = None
    seed: int | None = None
    timeout: float | None = None
    memory: int | None = None
    output_limit: int | None = None
    copy_limit: int | None = None


@dataclass(frozen=True)
class Settings:
    """The settings of one folder. Patterns are relative to `root`; `origin` names the file they stand in."""

    root: str = os.sep
    origin: str = "the command line"
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    unsafe: bool = False
    target_torch: Version | None = None
    declared_torch: Declared | None = None
    prefer: Prefer = Prefer.CUDA
    guards: bool = False
    suggestions: bool = False
    min_confidence: float = 0.0
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    max_file_size: int = 1024**2
    respect_gitignore: bool = True
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    jobs: int | None = None
    baseline: str | None = None
    replay: ReplaySettings = ReplaySettings()

    @cached_property
    def choice(self) -> Choice:
        """The choice for a file that no `per-file-ignores` names."""
        target, declared = self.target_torch, None
        if target is None and self.declared_torch is not None:
            target, declared = self.declared_torch.version, self.declared_torch.name
        return Choice(
            select=self.select,
            ignore=self.ignore,
            unsafe=self.unsafe,
            target_torch=target,
            prefer=self.prefer,
            guards=self.guards,
            declared_by=declared,
            suggestions=self.suggestions,
            min_confidence=self.min_confidence,
            origin=self.origin,
        )


@dataclass(frozen=True)
class Overrides:
    """The command line's part: None where an option was not given. Above the folder `top` no settings are read."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    unsafe: bool | None = None
    target_torch: Version | None = None
    prefer: Prefer | None = None
    guards: bool = False
    suggestions: bool | None = None
    min_confidence: float | None = None
    jobs: int | None = None
    force_exclude: bool = False
    config: str | None = None
    isolated: bool = False
    top: str | None = None

    def over(self, settings: Settings) -> Settings:
        """`settings` with what the command line says instead."""
        return replace(
            settings,
            select=settings.select if self.select is None else self.select,
            ignore=settings.ignore + self.ignore,
            unsafe=settings.unsafe if self.unsafe is None else self.unsafe,
            target_torch=self.target_torch or settings.target_torch,
            prefer=self.prefer or settings.prefer,
            guards=self.guards,
            suggestions=settings.suggestions if self.suggestions is None else self.suggestions,
            min_confidence=settings.min_confidence if self.min_confidence is None else self.min_confidence,
            jobs=self.jobs or settings.jobs,
        )


class SettingsTree:
    """The settings of every folder, each file read once.

    Raises:
        UsageError: (from any method) a file holds a mistake.
    """

    def __init__(self, overrides: Overrides) -> None:
        self._overrides = overrides
        self._found: dict[str, Settings] = {}
        named = overrides.config
        self._above = overrides.over(Settings() if named is None or overrides.isolated else _named_file(named))

    def of(self, folder: str, names: Collection[str] | None = None) -> Settings:
        """The settings for the files in `folder`, an absolute path. `names` are its entries, where they are known."""
        if self._overrides.isolated:
            return self._above
        if folder not in self._found:
            parent = os.path.dirname(folder)
            is_top = folder in (parent, self._overrides.top)
            inherited = self._above if is_top else self.of(parent)
            self._found[folder] = self._read(folder, _entries(folder) if names is None else names, inherited)
        return self._found[folder]

    def _read(self, folder: str, names: Collection[str], inherited: Settings) -> Settings:
        settings = inherited
        if _PYPROJECT in names and self._overrides.config is None:
            path = os.path.join(folder, _PYPROJECT)
            if (table := _devfix_table(_document(path))) is not None:
                fresh = replace(parse_table(table, path), declared_torch=inherited.declared_torch)
                settings = self._overrides.over(fresh)
        declared = declared_torch(folder, names)
        if declared is None and settings.declared_torch is None:
            declared = implied_torch(folder, names)
        return settings if declared is None else replace(settings, declared_torch=declared)


def parse_table(table: Any, path: str) -> Settings:
    """The settings that the table of the file `path` gives.

    Raises:
        UsageError: a key is unknown or its value is of the wrong kind.
    """
    read = _convert(table, path)
    return Settings(
        root=os.path.dirname(path),
        origin=path,
        select=None if read.select is None else tuple(read.select),
        ignore=tuple(read.ignore),
        unsafe=read.unsafe,
        suggestions=read.suggestions,
        min_confidence=_confidence_key(read.min_confidence, path),
        target_torch=None if read.target_torch is None else _torch_key(read.target_torch, path),
        prefer=read.prefer or Prefer.CUDA,
        exclude=None if read.exclude is None else tuple(read.exclude),
        extend_exclude=tuple(read.extend_exclude),
        max_file_size=_size_key(read.max_file_size, path),
        respect_gitignore=read.respect_gitignore,
        per_file_ignores=tuple((pattern, tuple(codes)) for pattern, codes in read.per_file_ignores.items()),
        jobs=_jobs_key(read.jobs, path),
        baseline=None if read.baseline is None else os.path.join(os.path.dirname(path), read.baseline),
        replay=_replay_key(read.replay, path),
    )


def parse_version(text: str) -> Version | None:
    """`2.4` as (2, 4), or None where it is no version."""
    found = _VERSION.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None


def _convert(table: Any, path: str) -> _Table:
    known = [field.encode_name for field in msgspec.structs.fields(_Table)]
    _refuse_unknown(table, known, path, "")
    replay = table.get("replay") if isinstance(table, Mapping) else None
    _refuse_unknown(replay, [field.encode_name for field in msgspec.structs.fields(_ReplayTable)], path, "replay.")
    try:
        return msgspec.convert(table, _Table)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `$")
        raise _mistake(path, where.strip("`.") or "the table", what[0].lower() + what[1:]) from error


def _refuse_unknown(table: Any, known: list[str], path: str, prefix: str) -> None:
    for key in table if isinstance(table, Mapping) else ():
        if key not in known:
            raise _mistake(path, prefix + key, f"is not a setting of devfix{close_match(key, known)}")


def _torch_key(text: str, path: str) -> Version:
    version = parse_version(text)
    if version is None:
        raise _mistake(path, "target-torch", f'{text!r} is no torch version; write it like "2.4"')
    return version


def _confidence_key(value: float, path: str) -> float:
    if not is_confidence(value):
        raise _mistake(path, "min-confidence", f"must be a number from 0 to 1, not {value:g}")
    return value


def is_confidence(value: float) -> bool:
    """Whether a finding may have that confidence; none has one that is no number."""
    return 0 <= value <= 1


def parse_size(text: str) -> int | None:
    """`2MiB` in bytes, or None where it is no size."""
    found = _SIZE.fullmatch(text)
    return int(found[1]) * _UNITS[found[2]] if found else None


def _size_key(value: int | str, path: str, key: str = "max-file-size") -> int:
    size = parse_size(value) if isinstance(value, str) else value
    if size is None or size < 0:
        raise _mistake(path, key, f'{value!r} is no size; write bytes, or "512KiB", or "2MiB"')
    return size


def _replay_key(read: _ReplayTable, path: str) -> ReplaySettings:
    for key, least, most in _REPLAY_BOUNDS:
        value = getattr(read, key)
        if value is not None and not value >= least:  # a duration may be no number
            raise _mistake(path, f"replay.{key}", f"must be at least {least}, not {value}")
        if value is not None and value > most:
            raise _mistake(path, f"replay.{key}", f"must be at most {most}, not {value}")
    sizes = {
        name: None if value is None else _size_key(value, path, f"replay.{name.replace('_', '-')}")
        for name in ("memory", "output_limit", "copy_limit")
        for value in (getattr(read, name),)
    }
    if (memory := sizes["memory"]) is not None and memory < LEAST_MEMORY:
        raise _mistake(path, "replay.memory", f"{read.memory!r} is too little to import torch; write it like 8GiB")
    return ReplaySettings(read.on, read.devices, read.steps, read.seed, read.timeout, **sizes)


def _jobs_key(value: int | None, path: str) -> int | None:
    if value is not None and value < 1:
        raise _mistake(path, "jobs", f"must be at least 1, not {value}")
    return value


def _mistake(path: str, key: str, what: str) -> UsageError:
    return UsageError(f"{path}: [tool.devfix] {key}: {what}")


def _named_file(name: str) -> Settings:
    path = os.path.abspath(name)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"--config {name}: {error.strerror}") from error
    table = _devfix_table(_parse(path, data))
    if table is None:
        raise UsageError(f"--config {name}: the file has no [tool.devfix] table")
    return parse_table(table, path)


def _document(path: str) -> dict[str, Any]:
    """The parsed file where it speaks of devfix; one that is broken matters only then."""
    try:
        data = Path(path).read_bytes()
    except OSError:
        return {}
    return _parse(path, data) if b"devfix" in data else {}


def _parse(path: str, data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode())
    except RecursionError as error:
        raise UsageError(f"{path}: not valid TOML: nested too deeply") from error
    except ValueError as error:  # of `tomllib`, of the encoding, or of a number with thousands of digits
        raise UsageError(f"{path}: not valid TOML: {error}") from error


def _devfix_table(document: dict[str, Any]) -> Any:
    tool = document.get("tool")
    return tool.get("devfix") if isinstance(tool, dict) else None


def _entries(folder: str) -> Collection[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return ()
