"""What a Python interpreter needs to be seen to run, found without running anything that is installed in it."""

import ast
import contextlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from importlib import machinery
from pathlib import Path

_ASK = """
import json, sys
print(json.dumps([sys.executable, [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]]))
"""
_SECONDS = 30
_PACKAGES = ("lib*/python3*/site-packages", "lib*/python3*/dist-packages", "lib/python3/dist-packages")


class InterpreterError(Exception):
    """It could not be asked; the message says why."""


def folders_of(python: str) -> tuple[Path, ...]:
    """The folders that `python` is made of, and those that its packages are installed in or linked to.

    The interpreter is run once, isolated and without its packages: it has to be one that the user trusts.

    Raises:
        InterpreterError: it could not be run.
    """
    executable, prefixes = _asked(python)
    found = list(prefixes)
    if (executable.parent.parent / "pyvenv.cfg").is_file():
        found.append(executable.parent.parent)
    found += [link.parent for link in _links(executable)]
    user = user_base()
    found += [target for folder in (*found, user) for target in _linked(folder)]
    found += [folder for folder in user.glob(_PACKAGES[0]) if folder.is_dir()]
    return tuple(dict.fromkeys(each for folder in found for each in (folder, folder.resolve()) if is_narrow(each)))


def user_base() -> Path:
    """Where `pip install --user` puts packages: the documentation of `site`, PYTHONUSERBASE."""
    return Path(os.environ.get("PYTHONUSERBASE") or Path.home() / ".local")


def is_narrow(folder: Path) -> bool:
    """Whether the folder does not hold what is the user's own."""
    home = Path.home().resolve()
    return folder.is_dir() and not home.is_relative_to(folder) and folder.parent != folder


def _asked(python: str) -> tuple[Path, list[Path]]:
    try:
        done = subprocess.run(
            [shutil.which(python) or python, "-I", "-S", "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
        executable, prefixes = json.loads(done.stdout)
    except OSError as error:
        raise InterpreterError(f"{python} could not be started: {error.strerror}") from error
    except (subprocess.SubprocessError, ValueError) as error:
        raise InterpreterError(f"{python} did not say where it is installed") from error
    return Path(executable), [Path(prefix) for prefix in prefixes]


def _links(path: Path) -> Iterator[Path]:
    """`path` and what it links to, step by step."""
    for _ in range(40):
        yield path
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / path.readlink()))


def _linked(prefix: Path) -> Iterator[Path]:
    """The folders elsewhere that the packages of a prefix are linked to, by `.pth` files and editable installs."""
    for packages in (folder for pattern in _PACKAGES for folder in prefix.glob(pattern)):
        for file in packages.glob("*.pth"):
            yield from _existing(line.strip() for line in _lines(file))
        for file in packages.glob("__editable__*_finder.py"):
            yield from _existing(_mapped(file))


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _mapped(finder: Path) -> Iterator[str]:
    """The folders that an editable install of setuptools maps packages to, and those of modules that are one file."""
    for line in _lines(finder):
        found = re.match(r"MAPPING\b[^=]*=\s*(\{.*\})\s*$", line)
        if found:
            with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError):
                yield from (_home(value) for value in ast.literal_eval(found[1]).values() if isinstance(value, str))


def _home(name: str) -> str:
    """`name`, or where a module of that name is one file, which is mapped without its suffix, the file's folder."""
    is_file = any(Path(name + suffix).is_file() for suffix in machinery.all_suffixes())
    return str(Path(name).parent) if is_file and not Path(name).is_dir() else name


def _existing(names: Iterable[str]) -> Iterator[Path]:
    yield from (Path(name) for name in names if name.startswith("/") and Path(name).is_dir())
