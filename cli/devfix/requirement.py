"""The oldest torch that a project admits, read from what it declares."""

import ast
import configparser
import re
from collections.abc import Iterator
from typing import Any

Version = tuple[int, int]

_REQUIREMENT = re.compile(r"^\s*torch\s*(?:\[[^\]]*\])?\s*\(?(?P<bounds>[^;#]*)", re.IGNORECASE)
_LOWER_BOUND = re.compile(r"(?:>=|==|===|~=|>|\^|~)\s*v?(\d+)(?:\.(\d+))?")


def torch_of_pyproject(document: dict[str, Any]) -> Version | None:
    """The lower bound in `[project]` or Poetry's dependencies, or None where there is none."""
    for line in _declared(document):
        if found := torch_of_line(line):
            return found
    return None


def torch_of_requirements(text: str) -> Version | None:
    """The lower bound in the text of a `requirements.txt`."""
    return next((found for line in text.splitlines() if (found := torch_of_line(line))), None)


def torch_of_setup_cfg(text: str) -> Version | None:
    """The lower bound in `[options] install_requires` of a `setup.cfg`."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error:
        return None
    return torch_of_requirements(parser.get("options", "install_requires", fallback=""))


def torch_of_setup_py(text: str) -> Version | None:
    """The lower bound in a requirement that a `setup.py` spells out; the file is read, never run."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    texts = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return next((found for line in texts if "\n" not in line and (found := torch_of_line(line))), None)


def torch_of_line(line: str) -> Version | None:
    """The lower bound in one requirement: `torch>=2.4,<3` gives (2, 4)."""
    requirement = _REQUIREMENT.match(line)
    if requirement is None or re.match(r"[\w.-]*[A-Za-z_]", requirement["bounds"]):
        return None
    bounds = [(int(major), int(minor or 0)) for major, minor in _LOWER_BOUND.findall(requirement["bounds"])]
    return max(bounds, default=None)


def _declared(document: dict[str, Any]) -> Iterator[str]:
    project = _table(document.get("project"))
    groups = [project.get("dependencies"), *_table(project.get("optional-dependencies")).values()]
    for group in groups:
        yield from (line for line in group or () if isinstance(line, str)) if isinstance(group, list) else ()
    poetry = _table(_table(_table(document.get("tool")).get("poetry")).get("dependencies")).get("torch")
    version = _table(poetry).get("version") if isinstance(poetry, dict) else poetry
    if isinstance(version, str):
        yield f"torch {version}"


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
