"""The oldest torch that a project admits, read from what it declares.

Texts come in and a version comes out; what a requirements file includes is asked for. Nothing is run.
"""

import ast
import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, parse

Version = tuple[int, int]
_Lowest = tuple[Version | None, Version | None]
Include = Callable[[str], str | None]
"""The text of a file that another one includes, by its path relative to that one; None where there is none."""

SERIES: tuple[Version, ...] = (*((1, minor) for minor in range(14)), *((2, minor) for minor in range(14)))
"""The release series of torch on PyPI, up to the newest that this devfix knows."""

_PATCHES = 8
_LOWER = frozenset({">=", "==", "===", "~=", ">"})
_LOCAL = re.compile(r"\+[A-Za-z0-9.]+")
_MENTION = re.compile(r"^\s*torch\b(?![\w.-])", re.IGNORECASE)
_OPTION = re.compile(r"^\s*(-r|--requirement|-c|--constraint)[\s=]*(\S+)")
_LOCKED = re.compile(r'(?m)^name *= *"torch"\r?\nversion *= *"([^"]+)"')
_CONDA = re.compile(r"""(?m)^[ \t]*-[ \t]*["']?(?:[\w./-]+::)?(?:py)?torch(?P<bounds>[ \t=<>!~][^"'#;\n]*)""")
_DEEPEST = 8
_ENDLESS = re.compile(r"\d{100}")
"""Python reads no number of thousands of digits."""


# Files


def torch_of(name: str, text: str, include: Include | None = None) -> Version | None:
    """The lowest torch that the file called `name` admits; `include` reads what stands beside it."""
    if name.endswith(".txt"):
        return torch_of_requirements(text, include)
    if name.endswith((".yml", ".yaml")):
        return torch_of_environment(text)
    readers = {
        "pyproject.toml": torch_of_pyproject,
        "setup.cfg": torch_of_setup_cfg,
        "setup.py": torch_of_setup_py,
        "Pipfile": torch_of_pipfile,
        "Pipfile.lock": torch_of_pipfile_lock,
    }
    return readers.get(name, torch_of_lock)(text)


def torch_of_pyproject(text: str) -> Version | None:
    """The lowest torch that `[project]`, its extras, `[dependency-groups]` or Poetry's tables admit."""
    document = _toml(text)
    return _lowest([*map(torch_of_line, _declared(document)), *map(torch_of_poetry, _of_poetry(document))])


def torch_of_requirements(text: str, include: Include | None = None) -> Version | None:
    """The lowest torch that the text of a `requirements.txt` admits, with the files that it includes.

    A constraint (`-c`) can only raise it.
    """
    return max(filter(None, _of_requirements(text, include, "", _DEEPEST, {})), default=None)


def torch_of_setup_cfg(text: str) -> Version | None:
    """The lowest torch in `[options] install_requires` of a `setup.cfg`, or in its extras."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    extras = parser["options.extras_require"].values() if "options.extras_require" in parser else ()
    return _lowest(map(torch_of_requirements, [parser.get("options", "install_requires", fallback=""), *extras]))


def torch_of_setup_py(text: str) -> Version | None:
    """The lowest torch in the requirements that a `setup.py` spells out; the file is read, never run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return _lowest(torch_of_line(line) for line in texts if "\n" not in line)


def torch_of_pipfile(text: str) -> Version | None:
    """The lowest torch that a `Pipfile` admits."""
    document = _toml(text)
    tables = (_table(document.get(name)) for name in ("packages", "dev-packages"))
    return _lowest(torch_of_line(f"torch {_version_of(table.get('torch'))}") for table in tables)


def torch_of_pipfile_lock(text: str) -> Version | None:
    """The torch that a `Pipfile.lock` pins."""
    try:
        document = _table(json.loads(text))
    except (ValueError, RecursionError):
        return None
    tables = (_table(document.get(name)) for name in ("default", "develop"))
    return _lowest(torch_of_line(f"torch {_version_of(table.get('torch'))}") for table in tables)


def torch_of_lock(text: str) -> Version | None:
    """The lowest torch that a `uv.lock`, `poetry.lock`, `pdm.lock` or `pylock.toml` pins.

    Read line by line: these files are long, written by machines, and put the version below the name.
    """
    return _lowest(_lowest_of(f"=={version}") for version in _LOCKED.findall(text))


def torch_of_environment(text: str) -> Version | None:
    """The lowest torch in the lists of a conda `environment.yml`, those for pip among them."""
    return _lowest(_lowest_of(_of_conda(found["bounds"])) for found in _CONDA.finditer(text))


# Requirements


def torch_of_line(line: str) -> Version | None:
    """The lowest torch that one requirement admits: `torch>=2.4,<3` gives (2, 4); None where it says nothing."""
    if _MENTION.match(line) is None or _ENDLESS.search(line):
        return None
    text = re.split(r"\s(?:#|--)", line.strip(), maxsplit=1)[0].rstrip("\\ ")
    try:
        requirement = Requirement(_LOCAL.sub("", text))
    except InvalidRequirement:
        return torch_of_poetry(text[len("torch") :])
    if requirement.name.lower() != "torch" or requirement.url is not None:
        return None
    return _lowest_in(requirement.specifier)


def torch_of_poetry(bounds: str) -> Version | None:
    """The lowest torch that a constraint in Poetry's own syntax admits: `^2.3`, `~2.3`, `2.3`, `>=1.13 || 2.1.*`."""
    ways = [] if _ENDLESS.search(bounds) else bounds.split("||")
    return _lowest(_lowest_of(_pep440(way)) for way in ways)


def _pep440(bounds: str) -> str:
    return ",".join(_pep440_part(part) for part in re.split(r"[,\s]+(?![\d*])", bounds.strip()) if part)


def _pep440_part(part: str) -> str:
    found = re.fullmatch(r"(\^|~(?!=))\s*v?(\d+)(?:\.(\d+))?\S*", part)
    if found is None:
        return part if not part[:1].isdigit() else f"=={part}"
    operator, major, minor = found.groups()
    end = f"{int(major) + 1}" if operator == "^" or minor is None else f"{major}.{int(minor) + 1}"
    return f">={major}.{minor or 0},<{end}"


def _of_conda(bounds: str) -> str:
    """`=2.1`, `2.1.*`, `==2.1.0`, `=2.1.0=py3.11_cuda`, `>=2.0,<2.2` as PEP 440 has them."""
    text = bounds.strip()
    found = re.fullmatch(r"=?\s*(\d[\w.]*?)(?:\.\*)?(?:[=\s]+[^=<>\s]+)?", text)
    return f"=={found[1]}.*" if found else text


def _lowest_of(bounds: str) -> Version | None:
    if _ENDLESS.search(bounds):
        return None
    try:
        return _lowest_in(SpecifierSet(_LOCAL.sub("", bounds)))
    except InvalidSpecifier:
        return None


def _lowest_in(specifiers: SpecifierSet) -> Version | None:
    """The lowest series of which a release is admitted; None where only releases to come are shut out."""
    bounded = any(one.operator in _LOWER and one.version != "*" for one in specifiers)
    if not bounded and _admits(specifiers, SERIES[-1]):
        return None
    lowest = next((series for series in SERIES if _admits(specifiers, series)), None)
    return lowest or _beyond(specifiers)


def _admits(specifiers: SpecifierSet, series: Version) -> bool:
    major, minor = series
    return any(specifiers.contains(f"{major}.{minor}.{patch}") for patch in range(_PATCHES))


def _beyond(specifiers: SpecifierSet) -> Version | None:
    """The lower bound as it is written, for a release that is newer than those known, or no final one."""
    releases = []
    for one in specifiers:
        if one.operator in _LOWER:
            try:
                major, minor, *_ = (*parse(one.version.removesuffix(".*")).release, 0)
            except InvalidVersion:
                continue
            releases.append((major, minor))
    return max(releases, default=None)


def _lowest(found: Iterable[Version | None]) -> Version | None:
    return min((one for one in found if one is not None), default=None)


# What the files hold


def _of_requirements(
    text: str, include: Include | None, folder: str, depth: int, known: dict[tuple[str, int], _Lowest]
) -> _Lowest:
    """What the lines require and what they constrain. `folder` is where the file stands, seen from the first one.

    What is `known` of a file, so deep, is not read again.
    """
    required: list[Version | None] = []
    constrained: list[Version | None] = []
    for line in text.splitlines():
        option = _OPTION.match(line)
        if option is None:
            required.append(torch_of_line(line))
            continue
        name = posixpath.normpath(posixpath.join(folder, option[2]))
        if include is None or not depth or "://" in option[2]:
            continue
        if (name, depth) not in known:
            inner = include(name) or ""
            known[name, depth] = _of_requirements(inner, include, posixpath.dirname(name), depth - 1, known)
        lowest, limit = known[name, depth]
        constrained.append(limit)
        (constrained if option[1] in {"-c", "--constraint"} else required).append(lowest)
    return _lowest(required), _lowest(constrained)


def _declared(document: dict[str, Any]) -> Iterator[str]:
    """The requirements of a `pyproject.toml` in the standard syntax."""
    project, tool = _table(document.get("project")), _table(document.get("tool"))
    groups = [project.get("dependencies"), *_table(project.get("optional-dependencies")).values()]
    groups += _table(document.get("dependency-groups")).values()
    groups += [_table(tool.get("uv")).get("dev-dependencies")]
    groups += _table(_table(tool.get("pdm")).get("dev-dependencies")).values()
    for group in groups:
        yield from (line for line in group if isinstance(line, str)) if isinstance(group, list) else ()


def _of_poetry(document: dict[str, Any]) -> Iterator[str]:
    """The constraints on torch in the tables of Poetry."""
    poetry = _table(_table(document.get("tool")).get("poetry"))
    tables = [poetry.get("dependencies"), poetry.get("dev-dependencies")]
    tables += [_table(group).get("dependencies") for group in _table(poetry.get("group")).values()]
    for table in tables:
        found = _table(table).get("torch")
        for one in found if isinstance(found, list) else [found]:
            yield _version_of(one)


def _version_of(value: Any) -> str:
    version = value.get("version") if isinstance(value, dict) else value
    return version if isinstance(version, str) and version != "*" else ""


def _toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; none where it is no TOML, or holds a number of thousands of digits."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
