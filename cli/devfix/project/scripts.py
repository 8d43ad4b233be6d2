"""The script that a command is to run."""

from pathlib import Path

from devfix.errors import UsageError


def script_named(name: str) -> Path:
    """The whole path of the script `name`.

    Raises:
        UsageError: it is none.
    """
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name}: {'a folder; name a script' if path.is_dir() else 'no such file'}")
    if path.suffix == ".ipynb":
        raise UsageError(f"{name}: a notebook; only scripts can be run")
    return path.resolve()
