"""The script that a command is to run."""

from pathlib import Path

from devfix.errors import UsageError


def script_named(name: str, or_notebook: bool = False) -> Path:
    """The whole path of the script `name`, which may be a notebook where that is said.

    Raises:
        UsageError: it is none.
    """
    path = Path(name)
    if not path.is_file():
        raise UsageError(f"{name}: {'a folder; name a script' if path.is_dir() else 'no such file'}")
    if path.suffix == ".ipynb" and not or_notebook:
        raise UsageError(f"{name}: a notebook; only scripts can be run")
    return path.resolve()
